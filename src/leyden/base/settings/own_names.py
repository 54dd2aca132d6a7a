"""The names and origins by which this platform is called, from its settings."""

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from leyden.base.settings.fields import Settings
from leyden.base.settings.reading import words
from leyden.errors import SetupError

_USUAL_PORTS = {"http": 80, "https": 443}
_ORIGIN = re.compile(
    r"https?://[A-Za-z0-9.\-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?"
)


def check_origins(origins: Iterable[str]) -> None:
    """Raise SetupError for a text that is not an origin as browsers send it."""
    if not all(map(_ORIGIN.fullmatch, origins)):
        raise SetupError("an origin must look like https://dashboard.example")


def origins(settings: Settings) -> tuple[str, ...]:
    """Return the origins whose pages may call nodes, such as the dashboard's.

    A page that makes a wallet or unlocks one talks to the node itself, so that what it
    says never passes through us; browsers let it where lnd names its origin.
    """
    if settings.dashboard_origins:
        named = tuple(
            each.removesuffix("/") for each in words(settings.dashboard_origins)
        )
        try:
            check_origins(named)
        except SetupError as error:
            raise SetupError(f"dashboard_origins: {error.message}") from None
        return named
    secured = settings.api_tls_certificate or settings.api_tls or settings.acme_api_name
    scheme = "https" if secured else "http"
    port = "" if settings.api_port == _USUAL_PORTS[scheme] else f":{settings.api_port}"
    hosts = (
        (settings.acme_api_name,)
        if settings.acme_api_name
        else local_names(settings.api_host)
    )
    return tuple(f"{scheme}://{host}{port}" for host in hosts)


def main_origin(settings: Settings) -> str:
    """Return the origin of links to the dashboard.

    Passkeys are for names: a browser makes none for a bare address.
    """
    every = origins(settings)
    return next((each for each in every if "//localhost" in each), every[0])


def api_names(settings: Settings) -> tuple[str, ...]:
    """Return the names and addresses by which the API is called, without brackets.

    Where our authority vouches for the API, that is where browsers find the dashboard;
    else the names of its host, for the day when it does.
    """
    if settings.acme_api_name:
        return (settings.acme_api_name,)
    if settings.api_tls:
        hosts = [urlsplit(each).hostname or "" for each in origins(settings)]
    else:
        hosts = [each.strip("[]") for each in local_names(settings.api_host)]
    return tuple(dict.fromkeys(hosts))


def local_names(host: str) -> tuple[str, ...]:
    """Return this machine's local host names for an address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return (host.lower(),)
    shown = f"[{address}]" if ":" in host else str(address)
    if address.is_unspecified:
        return ("localhost", "127.0.0.1", "[::1]")
    return (shown, "localhost") if address.is_loopback else (shown,)
