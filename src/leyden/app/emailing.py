"""Wiring of emails, from settings."""

from leyden.app import gateways
from leyden.domain.emails import Security, is_address
from leyden.emails.smtp import SmtpServer
from leyden.errors import SetupError
from leyden.services.deliveries.emailing import Emailing
from leyden.services.platform import Platform
from leyden.settings import Settings


def emailing_of(platform: Platform) -> Emailing | None:
    """Return the dependencies of emails, if a mail server is configured."""
    given = platform.settings
    server = server_of(given)
    if server is None:
        return None
    return Emailing(
        database=platform.database,
        sealer=platform.sealer,
        server=server,
        clock=platform.clock,
        origin=gateways.main_origin(given),
        per_hour=given.emails_per_hour,
    )


def server_of(given: Settings) -> SmtpServer | None:
    """Return the configured mail server, if any."""
    if not given.smtp_host:
        return None
    if not is_address(given.smtp_from):
        raise SetupError("smtp_from: must look like leyden@example.org")
    return SmtpServer(
        host=given.smtp_host,
        port=given.smtp_port,
        security=Security(given.smtp_security),
        user=given.smtp_user,
        password=given.smtp_password,
        sender=given.smtp_from,
        authorities=given.smtp_authorities,
    )
