"""REST as lnd and poold speak it: a certificate of their own, and a macaroon."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from leyden.errors import Away, Refused

_PATIENCE_S = 30.0


class Rest:
    """One daemon's REST."""

    def __init__(
        self, name: str, address: str, macaroon: Path, session: aiohttp.ClientSession
    ) -> None:
        self._name = name
        self._address = address
        self._macaroon = macaroon
        self._session = session

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        patience_s: float = _PATIENCE_S,
    ) -> Any:
        """Call it; Refused with its own words, Away when it is not there.

        Of a stream the last line is given.
        """
        macaroon = self._read_macaroon()
        try:
            async with self._session.request(
                method,
                f"https://{self._address}{path}",
                headers={"Grpc-Metadata-Macaroon": macaroon} if macaroon else {},
                data=None if body is None else msgspec.json.encode(body),
                timeout=aiohttp.ClientTimeout(total=patience_s),
            ) as response:
                lines = (await response.read()).strip().split(b"\n")
                answer = msgspec.json.decode(lines[-1])
        except (aiohttp.ClientError, TimeoutError, OSError, msgspec.DecodeError):
            raise Away(f"{self._name} does not answer at {self._address}") from None
        if not response.ok:
            raise Refused(str(answer.get("message", answer)))
        return answer

    def _read_macaroon(self) -> str:
        try:
            return self._macaroon.read_bytes().hex()
        except FileNotFoundError:
            return ""  # until its first start is done; /v1/state wants none


@asynccontextmanager
async def opened(
    name: str, address: str, *, certificate: Path, macaroon: Path
) -> AsyncIterator[Rest]:
    """Give the REST at this address; it need not answer yet."""
    try:
        tls = await asyncio.to_thread(ssl.create_default_context, cafile=certificate)
    except (FileNotFoundError, ssl.SSLError):  # not there, or half written
        raise Away(f"{name} has made no certificate yet") from None
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=tls)
    ) as session:
        yield Rest(name, address, macaroon, session)
