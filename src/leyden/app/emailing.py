"""Wiring of emails: from settings to what sends them."""

from leyden.app import gateways
from leyden.domain.emails import Security, is_address
from leyden.emails.smtp import SmtpServer
from leyden.errors import SetupError
from leyden.services.deliveries.emailing import Emailing
from leyden.services.platform import Platform
from leyden.settings import Settings


def emailing_of(platform: Platform) -> Emailing | None:
    """Return what sends emails, if the settings name a mail server."""
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
    """Return the mail server that the settings name, if they do."""
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
