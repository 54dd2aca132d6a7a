"""The dashboard's origins, from its settings and never from a request; its headers."""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from leyden.base.settings import Settings

_A_YEAR_S = 31_536_000
_PERMISSIONS: Final = "permissions-policy"
# For the one page that scans.
CAMERA: Final = MappingProxyType(
    {_PERMISSIONS: "camera=(self), geolocation=(), microphone=()"}
)


class Origins:
    """The origins of this dashboard, by Host header."""

    def __init__(self, named: Iterable[str]) -> None:
        # Of two at one host the one over TLS counts: its name sorts after the other.
        self._named = {urlsplit(each).netloc: each for each in sorted(named)}

    def find(self, host: str) -> str:
        """Return the origin with this host name, or empty if it is not ours."""
        return self._named.get(host, "")

    def of(self, host: str, *, scheme: str) -> str:
        """Return a request's origin; a proxy may have terminated our TLS."""
        if scheme == "https":
            return f"https://{host}"
        return self._named.get(host, f"http://{host}")

    def protection(self, host: str) -> dict[str, str]:
        """Return the HSTS header if this host is one of our HTTPS origins.

        Never for localhost: a browser would apply it to all ports of this
        machine.
        """
        origin = urlsplit(self._named.get(host, ""))
        if origin.scheme != "https" or origin.hostname == "localhost":
            return {}
        return {"strict-transport-security": f"max-age={_A_YEAR_S}"}


def security_headers(given: Settings) -> dict[str, str]:
    """Return headers that forbid foreign sources and inline code.

    The one exception is connections to the nodes themselves: keys are created
    and used in the browser, and sent to the node only.
    """
    nodes = f"https://*.{given.nodes_domain}:{given.gateway_rest_port}"
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": f"'self' {nodes}",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    return {
        "content-security-policy": "; ".join(f"{k} {v}" for k, v in policy.items()),
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        # Not no-referrer: a form would then come from nowhere, as far as we are told.
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        _PERMISSIONS: "camera=(), geolocation=(), microphone=()",
        "cache-control": "no-store",
    }
