"""A JSON-RPC client for btcd, with mining."""

import asyncio
import base64
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import aiohttp
import msgspec

from leyden.errors import Away, Refused, SetupError
from leyden_workshop.devnet.access import BtcdAccess

# btcd mines a few thousand blocks a second; a call should still be a short one.
_BLOCKS_A_CALL = 500
_CALL = aiohttp.ClientTimeout(total=60)
# btcd mines for one at a time: the market, `leyden dev mine`, or what keeps it fresh.
_BUSY = "already CPU mining"
_BUSY_FOR_S = 60.0
_AGAIN_S = 0.05


class BtcdCalls(Protocol):
    """A client that sends calls to btcd."""

    async def call(self, method: str, *params: object) -> Any:
        """Call one method.

        Raise Refused with btcd's own message, and Away if btcd does not
        respond.
        """


class BtcdChain:
    """One btcd."""

    def __init__(self, access: BtcdAccess, session: aiohttp.ClientSession) -> None:
        self._access = access
        self._session = session

    async def call(self, method: str, *params: object) -> Any:
        """Call one method.

        Raise Refused with btcd's own message, and Away if btcd does not
        respond.
        """
        body = {"jsonrpc": "1.0", "id": 1, "method": method, "params": params}
        try:
            async with self._session.post(
                f"https://{self._access.address}/", data=msgspec.json.encode(body)
            ) as response:
                answer = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError):
            raise self._away() from None
        if response.status == 401:  # noqa: PLR2004  unauthorized
            raise SetupError(
                f"the btcd at {self._access.address} belongs to another installation"
            )
        try:
            found = msgspec.json.decode(answer)
        except msgspec.DecodeError:
            raise self._away() from None
        if found["error"] is not None:
            raise Refused(str(found["error"]["message"]))
        return found["result"]

    async def height(self) -> int:
        """Return the height of the newest block."""
        height: int = await self.call("getblockcount")
        return height

    async def mine(self, blocks: int) -> list[str]:
        """Mine blocks with unconfirmed transactions; return their hashes."""
        hashes: list[str] = []
        while len(hashes) < blocks:
            wanted = min(_BLOCKS_A_CALL, blocks - len(hashes))
            hashes += await self._generate(wanted)
        return hashes

    async def _generate(self, blocks: int) -> list[str]:
        """Mine blocks once nobody else does."""
        deadline = time.monotonic() + _BUSY_FOR_S
        while True:
            try:
                return list(await self.call("generate", blocks))
            except Refused as refused:
                if _BUSY not in refused.message or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(_AGAIN_S)

    async def blocks(self) -> AsyncIterator[None]:
        """Yield once at the start and after each change of the chain.

        Raise Away when the connection ends.
        """
        ask = {"jsonrpc": "1.0", "id": 1, "method": "notifyblocks", "params": []}
        try:
            async with self._session.ws_connect(
                f"https://{self._access.address}/ws", max_msg_size=0
            ) as socket:
                await socket.send_str(msgspec.json.encode(ask).decode())
                async for message in socket:
                    # The answer to the question counts too: what was mined before.
                    if message.type is aiohttp.WSMsgType.TEXT:
                        yield
        except (aiohttp.ClientError, TimeoutError, OSError):
            pass
        raise self._away()

    def _away(self) -> Away:
        return Away(
            f"btcd does not respond at {self._access.address}; `leyden up` starts the "
            "private chain"
        )


def _basic(access: BtcdAccess) -> str:
    return base64.b64encode(f"{access.user}:{access.password}".encode()).decode()


@asynccontextmanager
async def connected(access: BtcdAccess) -> AsyncIterator[BtcdChain]:
    """Yield a client for this btcd, which need not be running yet."""
    # btcd makes its certificate when it first starts.
    try:
        tls = await asyncio.to_thread(
            ssl.create_default_context, cafile=access.certificate
        )
    except (FileNotFoundError, ssl.SSLError):  # not there, or half written
        raise Away("btcd has never run; `leyden up` starts it") from None
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=tls),
        headers={"Authorization": f"Basic {_basic(access)}"},
        timeout=_CALL,
    )
    async with session:
        yield BtcdChain(access, session)
