"""A client for an lnd whose certificate and macaroon are files, like the treasury's."""

import asyncio
import importlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leyden.base.files import unreadable
from leyden.errors import Away
from leyden.lnd.rest import CALL_S, CONNECT_S, Errors
from leyden.nodes.lnd.states import TlsAddress
from leyden.values import Struct

if TYPE_CHECKING:
    import aiohttp

    from leyden.nodes.lnd.client import LndClient


class LndAccess(Struct, frozen=True, kw_only=True):
    """The address and credentials of an lnd; the files are read at each use."""

    host: str
    port: int
    certificate: Path
    macaroon: Path
    is_new: bool = (
        False  # it may not have created a macaroon yet, and /v1/state needs none
    )


class LndConnection:
    """A client for an lnd that may start later, or renew its certificate.

    If lnd does not respond, the next call reads its certificate again, which may have
    been created or renewed since. The macaroon is read for each call.
    """

    def __init__(
        self, access: LndAccess, errors: Errors, *, connect_s: float = CONNECT_S
    ) -> None:
        self._access = access
        self._connect_s = connect_s
        self._errors = errors
        self._session: aiohttp.ClientSession | None = None
        self._lnd: LndClient | None = None

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        timeout_s: float = CALL_S,
    ) -> dict[str, Any]:
        """Call once; raise if lnd does not respond, or refuses (with its reason)."""
        lnd, macaroon = await self._connected()
        try:
            return await lnd.call(
                method, path, body, macaroon=macaroon, timeout_s=timeout_s
            )
        except Away:
            self._lnd = None
            raise

    async def stream(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the messages of a stream until it ends; raise if it breaks off."""
        lnd, macaroon = await self._connected()
        try:
            stream = lnd.stream(method, path, body, macaroon=macaroon)
            async with aclosing(stream):  # closed before the caller continues
                async for message in stream:
                    yield message
        except Away:
            self._lnd = None
            raise

    @asynccontextmanager
    async def socket(
        self, path: str
    ) -> "AsyncIterator[aiohttp.ClientWebSocketResponse]":
        """Open a bidirectional stream for the block; raise if lnd does not respond."""
        lnd, macaroon = await self._connected()
        try:
            async with lnd.socket(path, macaroon=macaroon) as socket:
                yield socket
        except Away:
            self._lnd = None
            raise

    async def close(self) -> None:
        """Close all connections."""
        self._lnd = None
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _connected(self) -> "tuple[LndClient, str]":
        try:
            macaroon = self._read_macaroon()
            if self._lnd is None:
                self._lnd = await self._connect()
        except (OSError, ssl.SSLError) as error:
            raise self._errors.away(
                f"can't be called, because its files can't be read: {unreadable(error)}"
            ) from None
        return self._lnd, macaroon

    def _read_macaroon(self) -> str:
        try:
            return self._access.macaroon.read_bytes().hex()
        except FileNotFoundError:
            if self._access.is_new:
                return ""
            raise

    async def _connect(self) -> "LndClient":
        # At the first call and in a thread: the import takes a tenth of a second.
        client = await asyncio.to_thread(
            importlib.import_module, "leyden.nodes.lnd.client"
        )
        access = self._access
        tls = await asyncio.to_thread(
            ssl.create_default_context, cafile=access.certificate
        )
        if self._session is None:
            self._session = client.session()
        address = TlsAddress(host=access.host, port=access.port, name=access.host)
        lnd: LndClient = client.LndClient(
            self._session,
            address,
            tls,
            errors=self._errors,
            connect_s=self._connect_s,
        )
        return lnd
