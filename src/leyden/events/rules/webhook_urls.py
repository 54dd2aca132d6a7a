"""Validate the text of a webhook's URL, and parse it into an endpoint.

Only the text is checked here. A name's addresses can change, so they are
checked at each call.
"""

import ipaddress
import re
from collections.abc import Container
from contextlib import suppress
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, urlsplit

from leyden.base.rules.addresses import Reach
from leyden.errors import Malformed
from leyden.values import Struct

LONGEST: Final = 1_024
_STANDARD_PORTS = {"https": 443, "http": 80}
_LONGEST_HOST = 253
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_IPV6_NETLOC = re.compile(r"\[[0-9A-Fa-f:.]+\](:[0-9]+)?")
# The characters that RFC 3986 allows in a URL: no space, control character, backslash
# or quote. Other alphabets must be percent-encoded, and host names written as xn--, so
# that "①②⑦.⓪.⓪.①" is not resolved to this machine.
_TEXT = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]*")
# A resolver parses 2130706433, 0x7f.1 and 127.1 as addresses.
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_USUAL_PORTS = {True: 443, False: 80}  # by TLS


class Allowed(Struct, frozen=True, kw_only=True):
    """The webhook URLs that an installation allows."""

    schemes: frozenset[str] = frozenset({"https"})
    ports: Container[int] = frozenset({443, *range(8_000, 10_000)})


USUAL: Final = Allowed()


def check(url: str, allowed: Allowed = USUAL, *, field: str = "webhook") -> str:
    """Return the URL unchanged; raise Malformed if it is not valid."""
    if len(url) > LONGEST:
        raise Malformed(f"{field}: at most {LONGEST} characters are allowed")
    if "#" in url:
        raise Malformed(f"{field}: must not contain a fragment")
    if not _TEXT.fullmatch(url):
        raise Malformed(f"{field}: contains a character that is not allowed in a URL")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Malformed(f"{field}: must be a URL") from None
    if parts.scheme not in allowed.schemes or not url.lower().startswith(
        f"{parts.scheme}://"
    ):
        raise Malformed(f"{field}: must begin with {_schemes(allowed)}")
    if "@" in parts.netloc:
        raise Malformed(f"{field}: must not contain a user name or password")
    if not _has_host(parts) or parts.netloc.endswith(":"):
        raise Malformed(f"{field}: must name a host")
    if (_STANDARD_PORTS[parts.scheme] if port is None else port) not in allowed.ports:
        raise Malformed(f"{field}: this port is not allowed")
    return url


def check_address(url: str, reach: Reach, *, field: str = "webhook") -> None:
    """Raise Malformed if the URL's host is an address that may not be called.

    Names are resolved when they are called, and their addresses checked by the
    same rule then.
    """
    parts = urlsplit(url)
    port = _STANDARD_PORTS[parts.scheme] if parts.port is None else parts.port
    if not reach.permits_host(parts.hostname or "", port):
        raise Malformed(
            f"{field}: {parts.hostname} is a private or reserved address, and we send "
            "no webhooks there; use a public address, or ask the operator to allow it "
            "(webhook_networks)"
        )


def _schemes(allowed: Allowed) -> str:
    return " or ".join(f"{name}://" for name in sorted(allowed.schemes, reverse=True))


def _has_host(parts: SplitResult) -> bool:
    host = (parts.hostname or "").removesuffix(".")
    if "[" in parts.netloc:
        return bool(_IPV6_NETLOC.fullmatch(parts.netloc)) and _is_address(host)
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _is_address(host)
    return len(host) <= _LONGEST_HOST and all(map(_LABEL.fullmatch, labels))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class Endpoint(Struct, frozen=True, kw_only=True):
    """The host to call and the path to request."""

    tls: bool
    host: str  # a name in lower case, or an address without brackets
    port: int
    target: str  # path and query

    @property
    def host_header(self) -> str:
        """The value of the request's Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _USUAL_PORTS[self.tls] else f"{host}:{self.port}"


@lru_cache(4_096)
def parse(url: str, allowed: Allowed) -> Endpoint:
    """Parse the URL; raise Malformed if it is not valid."""
    parts = urlsplit(check(url, allowed))
    tls = parts.scheme == "https"
    host = (parts.hostname or "").removesuffix(".")
    with suppress(ValueError):
        host = str(ipaddress.ip_address(host))
    return Endpoint(
        tls=tls,
        host=host,
        port=parts.port or _USUAL_PORTS[tls],
        target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    )
