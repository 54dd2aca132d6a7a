"""Wiring of outgoing webhooks: from settings to a dispatcher."""

import ipaddress
import re
import ssl
from collections.abc import Iterator
from datetime import timedelta

from leyden.base.platform import Platform
from leyden.base.rules.addresses import Network, Reach
from leyden.base.settings import Settings, words
from leyden.errors import SetupError
from leyden.events.dispatchers import Dispatcher, DispatcherSettings
from leyden.events.limits import ManualLimit
from leyden.events.rules.webhook_urls import USUAL, Allowed
from leyden.events.webhooks.connector import Egress
from leyden.events.webhooks.sender import HttpSender

_EVERY_PORT = range(1, 65_536)
_PORTS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def make_dispatcher(platform: Platform) -> Dispatcher:
    """Return the dispatcher for these settings."""
    settings = platform.settings
    egress = Egress(
        exceptions=reach(settings).exceptions,
        forbidden=reach(settings).forbidden,
    )
    return Dispatcher(
        database=platform.database,
        sealer=platform.sealer,
        sender=HttpSender(
            egress,
            allowed=allowed(settings),
            tls=_tls(settings.webhook_authorities),
            deadline_s=settings.webhook_deadline_s,
        ),
        clock=platform.clock,
        manual_limit=ManualLimit(settings.webhook_tests_per_minute),
        rules=DispatcherSettings(
            retries=_waits(settings.webhook_retries_s),
            patience=timedelta(seconds=settings.webhook_patience_s),
            old_secret_signs=timedelta(seconds=settings.webhook_old_secret_s),
            keeps_deliveries=timedelta(seconds=settings.webhooks_kept_s),
            allowed=allowed(settings),
        ),
    )


def allowed(settings: Settings) -> Allowed:
    """Return the rules for the text of webhook URLs."""
    over_http = settings.webhooks_over_http
    # Private installations have receivers on any port.
    usual = frozenset(_EVERY_PORT) if over_http else USUAL.ports
    listed = frozenset(_ports(settings.webhook_ports))
    return Allowed(
        schemes=frozenset({"https", "http"} if over_http else {"https"}),
        ports=listed or usual,
    )


def reach(settings: Settings) -> Reach:
    """Return the addresses that webhooks may be sent to."""
    return Reach(
        exceptions=tuple(networks("webhook_networks", settings.webhook_networks)),
        forbidden=tuple(
            networks("webhook_forbidden_networks", settings.webhook_forbidden_networks)
        ),
    )


def networks(name: str, text: str) -> list[Network]:
    """Parse a comma-separated setting of networks."""
    try:
        return [ipaddress.ip_network(word) for word in words(text)]
    except ValueError as error:
        raise SetupError(f"{name}: {error}") from None


def _ports(text: str) -> Iterator[int]:
    for word in words(text):
        match = _PORTS.fullmatch(word)
        if match is None:
            raise SetupError(
                f"webhook_ports: {word} must be a port, or a range like 8000-9999"
            )
        low, high = int(match[1]), int(match[2] or match[1])
        if not 1 <= low <= high <= _EVERY_PORT[-1]:
            raise SetupError(
                f"webhook_ports: {word} must be a port, or a range like 8000-9999"
            )
        yield from range(low, high + 1)


def _waits(text: str) -> tuple[timedelta, ...]:
    try:
        return tuple(timedelta(seconds=_seconds(word)) for word in words(text))
    except ValueError:
        raise SetupError(
            "webhook_retries_s: must be whole seconds, comma-separated"
        ) from None


def _seconds(word: str) -> int:
    seconds = int(word)
    if not 1 <= seconds <= 10**7:
        raise ValueError(word)
    return seconds


def _tls(authorities: str) -> ssl.SSLContext | None:
    """Return a TLS context that trusts these as well; None for the default."""
    if not authorities:
        return None
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(authorities)
    except OSError as error:  # SSLErrors are OSErrors
        raise SetupError(f"webhook_authorities: {authorities}: {error}") from None
    return context
