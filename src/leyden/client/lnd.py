"""A client for a node's own REST API, used by the node's owner.

Calls go over the node's own TLS, which the platform cannot read.

    lnd = client.lnd(node_id, macaroon="0201...")
    lnd.get("/v1/getinfo")
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Self

from leyden.client.wire import NoResponse, Server, Wire
from leyden.lnd import rest
from leyden.lnd.rest import CALL_S, NODE
from leyden.lnd.trust import trusting


class Lnd:
    """One lnd; calls raise NodeAway, or NodeRefused with lnd's reason.

    Passwords and seeds sent here are visible only to you and the node.
    """

    def __init__(
        self, url: str, *, trusts: str, connect: str = "", macaroon: str = ""
    ) -> None:
        """Create a client for the lnd at `url`.

        `trusts` is PEM, `connect` the gateway's address, and `macaroon` is
        in hex.
        """
        self.url = url
        self.macaroon = macaroon
        server = Server.at(url, tls=trusting(trusts), connect=connect)
        self._wire = Wire(server, timeout_s=CALL_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def get(self, path: str) -> dict[str, Any]:
        """Send a GET request."""
        return self.call("GET", path)

    def post(
        self,
        path: str,
        body: Mapping[str, object],
        *,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Send a POST request."""
        return self.call("POST", path, body, timeout_s=timeout_s)

    def delete(self, path: str) -> dict[str, Any]:
        """Send a DELETE request."""
        return self.call("DELETE", path)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Send one request, without retries."""
        content = None if body is None else json.dumps(body).encode()
        try:
            received = self._wire.request(
                method, path, content, rest.headers(self.macaroon), timeout_s=timeout_s
            )
        except NoResponse as error:
            raise NODE.away(f"does not respond: {error}") from None
        return rest.read(received.status, received.body, NODE)

    def stream(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        timeout_s: float,
    ) -> Iterator[dict[str, Any]]:
        """Send one request; yield lnd's updates, each within `timeout_s`."""
        content = None if body is None else json.dumps(body).encode()
        lines = self._wire.lines(
            method, path, content, rest.headers(self.macaroon), timeout_s=timeout_s
        )
        try:
            for status, line in lines:
                rest.read(status, line, NODE)
                yield rest.read_line(line, NODE)
        except NoResponse as error:
            raise NODE.away(f"does not respond: {error}") from None

    def state(self) -> str:
        """Return the wallet state: NON_EXISTING, LOCKED, ..., SERVER_ACTIVE."""
        return str(self.get("/v1/state").get("state", ""))
