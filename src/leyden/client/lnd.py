"""A node's own REST, for its owner: over the node's own TLS, past the platform.

lnd = client.lnd(node_id, macaroon="0201...")
lnd.get("/v1/getinfo")
"""

import json
import ssl
from collections.abc import Mapping
from typing import Any, Final, Self

from leyden.client.wire import NotThere, Server, Wire
from leyden.errors import NodeAway, NodeRefused

_PATIENCE_S: Final = 30.0
_SHORTEST_ERROR: Final = 400


def trusting(authority_pem: str) -> ssl.SSLContext:
    """Trust this authority, and no other."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cadata=authority_pem)
    return context


class Lnd:
    """One lnd; NodeAway when it does not answer, NodeRefused with its own reason.

    What passes here, passwords and seeds, is between you and the node.
    """

    def __init__(
        self, url: str, *, trusts: str, connect: str = "", macaroon: str = ""
    ) -> None:
        """`trusts` is PEM, `connect` where the gateway is, `macaroon` in hex."""
        self.url = url
        self.macaroon = macaroon
        server = Server.at(url, tls=trusting(trusts), connect=connect)
        self._wire = Wire(server, timeout_s=_PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._wire.close()

    def get(self, path: str) -> dict[str, Any]:
        """Look."""
        return self.call("GET", path)

    def post(
        self,
        path: str,
        body: Mapping[str, object],
        *,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Do."""
        return self.call("POST", path, body, timeout_s=timeout_s)

    def delete(self, path: str) -> dict[str, Any]:
        """Remove."""
        return self.call("DELETE", path)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Call once."""
        headers = {"Grpc-Metadata-macaroon": self.macaroon} if self.macaroon else {}
        content = None if body is None else json.dumps(body).encode()
        try:
            received = self._wire.request(
                method, path, content, headers, timeout_s=timeout_s
            )
        except NotThere as error:
            raise NodeAway(f"the node does not answer: {error}") from None
        try:
            told: dict[str, Any] = json.loads(received.body)
        except ValueError:
            raise NodeAway("the node answers something else than JSON") from None
        if received.status >= _SHORTEST_ERROR:
            raise NodeRefused(
                str(told.get("message", "")), code=int(told.get("code", 2))
            )
        return told

    def state(self) -> str:
        """Tell how far it is: NON_EXISTING, LOCKED, ..., SERVER_ACTIVE."""
        return str(self.get("/v1/state").get("state", ""))
