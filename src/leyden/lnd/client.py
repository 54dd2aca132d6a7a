"""lnd's REST, for whoever holds a macaroon: the treasury's keeper, an owner's commands.

    async with opened(address, trusting(authority)) as lnd:
        info = await lnd.call("GET", "/v1/getinfo", macaroon=macaroon)
        async for invoice in lnd.stream("GET", "/v1/invoices/subscribe", ...):

A node is called by its name, which its certificate shows, at an address that is given:
names are never looked up, so a resolver cannot send anybody elsewhere.
"""

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp

from leyden.errors import LeydenError, NodeAway, NodeRefused
from leyden.lnd.states import Address

_CALL_S: Final = 30.0
_CONNECT_S: Final = 10.0
# A graph of mainnet is some 60 MiB; nothing we ask for comes near.
_LONGEST_LINE: Final = 16 << 20
_SHORTEST_ERROR: Final = 400


class Lnd:
    """One lnd that answers at an address."""

    def __init__(
        self, session: aiohttp.ClientSession, address: Address, tls: ssl.SSLContext
    ) -> None:
        self._session = session
        self._tls = tls
        self._name = address.name
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
        timeout_s: float = _CALL_S,
    ) -> dict[str, Any]:
        """Call once; NodeAway when nobody answers, NodeRefused with lnd's reason."""
        timeout = aiohttp.ClientTimeout(total=timeout_s, connect=_CONNECT_S)
        async with self._answer(
            method, path, body, macaroon=macaroon, query=query, within=timeout
        ) as answer:
            try:
                content: dict[str, Any] = await answer.json(content_type=None)
            except ValueError:
                raise NodeAway("the node answers something else than JSON") from None
            return content

    async def stream(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        macaroon: str = "",
        query: Mapping[str, str] | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Give what lnd tells, one by one, until it ends or is away."""
        timeout = aiohttp.ClientTimeout(total=None, connect=_CONNECT_S)
        async with self._answer(
            method, path, body, macaroon=macaroon, query=query, within=timeout
        ) as answer:
            async for line in answer.content:
                told = json.loads(line)
                if "error" in told:
                    raise _refused(told["error"])
                yield told["result"]

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        *,
        macaroon: str,
        query: Mapping[str, str] | None,
        within: aiohttp.ClientTimeout,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {"Host": self._name}
        if macaroon:
            headers["Grpc-Metadata-macaroon"] = macaroon
        try:
            async with self._session.request(
                method,
                f"{self._base}{path}",
                json=body,
                params=query,
                headers=headers,
                ssl=self._tls,
                server_hostname=self._name,
                timeout=within,
                allow_redirects=False,
            ) as answer:
                if answer.status >= _SHORTEST_ERROR:
                    raise _refused(await _told(answer))
                yield answer
        except LeydenError:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NodeAway(
                f"the node does not answer: {type(error).__name__}", retry_after_s=5
            ) from error


@asynccontextmanager
async def opened(address: Address, tls: ssl.SSLContext) -> AsyncIterator[Lnd]:
    """Open connections to an lnd for as long as the block lasts."""
    async with aiohttp.ClientSession(
        read_bufsize=_LONGEST_LINE, trust_env=False
    ) as session:
        yield Lnd(session, address, tls)


async def _told(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    try:
        content: dict[str, Any] = await answer.json(content_type=None)
    except ValueError:
        content = {"message": f"the node answered {answer.status}"}
    return content


def _refused(told: Mapping[str, Any]) -> NodeRefused:
    """Give lnd's own reason, with the number of its kind (gRPC's codes)."""
    code = told.get("code", told.get("grpc_code", 2))
    return NodeRefused(str(told.get("message", "")), code=int(code))
