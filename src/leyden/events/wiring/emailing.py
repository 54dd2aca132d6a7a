"""Wiring of emails, from settings."""

from leyden.base.platform import Platform
from leyden.base.settings import Settings, own_names
from leyden.errors import SetupError
from leyden.events.emailing import Emailing
from leyden.events.rules.emails import Security, is_address
from leyden.events.smtp import SmtpServer


def make_emailing(platform: Platform) -> Emailing | None:
    """Return the dependencies of emails, if a mail server is configured."""
    settings = platform.settings
    server = make_server(settings)
    if server is None:
        return None
    return Emailing(
        database=platform.database,
        sealer=platform.sealer,
        server=server,
        clock=platform.clock,
        origin=own_names.main_origin(settings),
        per_hour=settings.emails_per_hour,
    )


def make_server(settings: Settings) -> SmtpServer | None:
    """Return the configured mail server, if any."""
    if not settings.smtp_host:
        return None
    if not is_address(settings.smtp_from):
        raise SetupError("smtp_from: must look like leyden@example.org")
    return SmtpServer(
        host=settings.smtp_host,
        port=settings.smtp_port,
        security=Security(settings.smtp_security),
        user=settings.smtp_user,
        password=settings.smtp_password,
        sender=settings.smtp_from,
        authorities=settings.smtp_authorities,
    )
