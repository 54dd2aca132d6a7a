"""Parsing of webhook URLs into endpoints.

`webhook_urls.py` decides which text is a valid URL; `events/webhooks/egress.py`
decides at each call which addresses may be called.
"""

import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit

from leyden.events.rules import webhook_urls
from leyden.values import Struct

_USUAL_PORTS = {True: 443, False: 80}  # by TLS


class Endpoint(Struct, frozen=True, kw_only=True):
    """The host to call and the path to request."""

    tls: bool
    host: str  # a name in lower case, or an address without brackets
    port: int
    target: str  # path and query
    is_name: bool  # the host must be resolved

    @property
    def host_header(self) -> str:
        """The value of the request's Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _USUAL_PORTS[self.tls] else f"{host}:{self.port}"


@lru_cache(4_096)
def parse(url: str, allowed: webhook_urls.Allowed) -> Endpoint:
    """Parse the URL; raise Malformed if it is not valid."""
    parts = urlsplit(webhook_urls.check(url, allowed))
    tls = parts.scheme == "https"
    host = (parts.hostname or "").removesuffix(".")
    try:
        host = str(ipaddress.ip_address(host))
        is_name = False
    except ValueError:
        is_name = True
    return Endpoint(
        tls=tls,
        host=host,
        port=parts.port or _USUAL_PORTS[tls],
        target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        is_name=is_name,
    )
