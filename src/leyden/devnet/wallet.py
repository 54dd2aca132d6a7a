"""The few questions we have for an lnd of the private chain, by its REST."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from leyden.devnet.access import Lnd
from leyden.errors import Away, Refused

_CALL = aiohttp.ClientTimeout(total=30)


class Wallet:
    """One lnd with its wallet."""

    def __init__(self, access: Lnd, session: aiohttp.ClientSession) -> None:
        self._access = access
        self._session = session

    async def state(self) -> str:
        """Tell lnd's own state; SERVER_ACTIVE is the one that counts."""
        answer = await self.call("GET", "/v1/state")
        return str(answer["state"])

    async def height(self) -> tuple[int, bool]:
        """Tell how far lnd has followed the chain, and whether it says that is all."""
        answer = await self.call("GET", "/v1/getinfo")
        return answer["block_height"], answer["synced_to_chain"]

    async def balance(self) -> int:
        """Count its sats on the chain, the unconfirmed ones too."""
        answer = await self.call("GET", "/v1/balance/blockchain")
        return int(answer["total_balance"])

    async def address(self) -> str:
        """Give a new address of its own."""
        answer = await self.call("GET", "/v1/newaddress?type=TAPROOT_PUBKEY")
        return str(answer["address"])

    async def call(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> Any:
        """Call its REST; Refused with lnd's own words, Away when it is not there."""
        macaroon = _macaroon(Path(self._access.macaroon))
        try:
            async with self._session.request(
                method,
                f"https://{self._access.rest}{path}",
                json=body,
                headers={"Grpc-Metadata-Macaroon": macaroon} if macaroon else {},
            ) as response:
                answer = msgspec.json.decode(await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError, msgspec.DecodeError):
            raise Away(f"lnd does not answer at {self._access.rest}") from None
        if not response.ok:
            raise Refused(str(answer.get("message", answer)))
        return answer


def _macaroon(path: Path) -> str:
    try:
        return path.read_bytes().hex()
    except FileNotFoundError:
        return ""  # until its first start is done; /v1/state wants none


@asynccontextmanager
async def opened(access: Lnd) -> AsyncIterator[Wallet]:
    """Give the wallet behind this access; it need not answer yet."""
    try:
        tls = await asyncio.to_thread(
            ssl.create_default_context, cafile=access.certificate
        )
    except (FileNotFoundError, ssl.SSLError):  # not there, or half written
        raise Away("lnd has made no certificate yet") from None
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=tls), timeout=_CALL
    ) as session:
        yield Wallet(access, session)
