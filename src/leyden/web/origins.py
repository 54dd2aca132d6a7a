"""Where browsers find the dashboard, as its settings say and no request can."""

from collections.abc import Iterable
from urllib.parse import urlsplit

_A_YEAR_S = 31_536_000


class Origins:
    """The addresses of this dashboard, known by the Host header that leads to each."""

    def __init__(self, named: Iterable[str]) -> None:
        # Of two at one host the one over TLS counts: its name sorts after the other.
        self._named = {urlsplit(each).netloc: each for each in sorted(named)}

    def find(self, host: str) -> str:
        """Give the origin that has this name; empty if it is none of ours."""
        return self._named.get(host, "")

    def of(self, host: str, *, scheme: str) -> str:
        """Give the origin of a request; a proxy may have ended the TLS of ours."""
        if scheme == "https":
            return f"https://{host}"
        return self._named.get(host, f"http://{host}")

    def protection(self, host: str) -> dict[str, str]:
        """Say that an address is never to be asked without TLS, if it is ours.

        Not of localhost: a browser would take it for all of this machine's ports.
        """
        origin = urlsplit(self._named.get(host, ""))
        if origin.scheme != "https" or origin.hostname == "localhost":
            return {}
        return {"strict-transport-security": f"max-age={_A_YEAR_S}"}
