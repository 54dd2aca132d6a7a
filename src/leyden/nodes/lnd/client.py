"""A client for the REST API of an lnd, for callers that have a macaroon.

    async with connect(address, trusting(authority)) as lnd:
        info = await lnd.call("GET", "/v1/getinfo", macaroon=macaroon)
        async for invoice in lnd.stream("GET", "/v1/invoices/subscribe", ...):

The caller passes a node's IP address and its name. The name is verified in the node's
certificate and never resolved, so a DNS resolver can't redirect the connection.
"""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp

from leyden.base.aiohttp_connector import Connector, why
from leyden.lnd import rest
from leyden.lnd.rest import CALL_S, CONNECT_S, NODE, Errors
from leyden.nodes.lnd.states import TlsAddress

# The graph of mainnet is some 60 MiB; we request nothing that is nearly as large.
_LONGEST_LINE: Final = 16 << 20
# lnd pings each socket every 30 seconds. One that was silent for so long is asked, and
# ended without an answer: its lnd is gone, and no packet told us.
_SILENT_S: Final = 60.0


class LndClient:
    """A client for one lnd."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        address: TlsAddress,
        tls: ssl.SSLContext,
        *,
        errors: Errors = NODE,
        connect_s: float = CONNECT_S,
    ) -> None:
        self._session = session
        self._tls = tls
        self._name = address.name
        self._errors = errors
        self._connect_s = connect_s
        host = f"[{address.host}]" if ":" in address.host else address.host
        self._base = f"https://{host}:{address.port}"

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        macaroon: str = "",
        query: Mapping[str, str] | None = None,
        timeout_s: float = CALL_S,
    ) -> dict[str, Any]:
        """Call once; raise if lnd does not respond, or refuses (with its reason)."""
        timeout = aiohttp.ClientTimeout(total=timeout_s, connect=self._connect_s)
        async with self._request(
            method, path, body, macaroon=macaroon, query=query, within=timeout
        ) as response:
            return rest.read(response.status, await response.read(), self._errors)

    async def stream(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        macaroon: str = "",
        query: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the messages of a stream until it ends; raise if it breaks off."""
        timeout = aiohttp.ClientTimeout(total=None, connect=self._connect_s)
        async with self._request(
            method, path, body, macaroon=macaroon, query=query, within=timeout
        ) as response:
            if not response.ok:
                rest.read(response.status, await response.read(), self._errors)
            async for line in response.content:
                yield rest.read_line(line, self._errors)

    @asynccontextmanager
    async def socket(
        self, path: str, *, macaroon: str = "", silent_s: float = _SILENT_S
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Open a bidirectional stream (a WebSocket) for the block.

        Its last message is an error if lnd was silent for too long.
        """
        try:
            async with self._session.ws_connect(
                f"{self._base}{path}?method=POST",
                headers={"Host": self._name, **rest.headers(macaroon)},
                ssl=self._tls,
                server_hostname=self._name,
                max_msg_size=_LONGEST_LINE,
                heartbeat=silent_s,
            ) as socket:
                yield socket
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._errors.away(f"does not respond: {why(error)}") from (error)

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        *,
        macaroon: str,
        query: Mapping[str, str] | None,
        within: aiohttp.ClientTimeout,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with self._session.request(
                method,
                f"{self._base}{path}",
                json=body,
                params=query,
                headers={"Host": self._name, **rest.headers(macaroon)},
                ssl=self._tls,
                server_hostname=self._name,
                timeout=within,
                allow_redirects=False,
            ) as response:
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._errors.away(f"does not respond: {why(error)}") from (error)


def session() -> aiohttp.ClientSession:
    """Create a session without a limit on connections: each stream needs one."""
    return aiohttp.ClientSession(
        connector=Connector(limit=0),
        read_bufsize=_LONGEST_LINE,
        trust_env=False,
    )


@asynccontextmanager
async def connect(
    address: TlsAddress, tls: ssl.SSLContext, *, errors: Errors = NODE
) -> AsyncIterator[LndClient]:
    """Open connections to an lnd for the block."""
    async with session() as connections:
        yield LndClient(connections, address, tls, errors=errors)
