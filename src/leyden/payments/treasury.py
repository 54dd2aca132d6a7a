"""The treasury's lnd: any lnd, by its host, its certificate and a macaroon."""

import asyncio
import importlib
import ssl
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leyden.errors import NodeAway, NodeRefused, TreasuryAway
from leyden.lnd.states import Address
from leyden.values import Struct

if TYPE_CHECKING:
    import aiohttp

    from leyden.lnd.client import Lnd

# All that our macaroon has to allow: nothing that spends, opens or bakes.
PERMISSIONS = (
    "invoices:read",
    "invoices:write",
    "address:write",
    "onchain:read",
    "info:read",
    "uri:/lnrpc.Lightning/ChannelBalance",
)

_RETRY_AFTER_S = 5
_LONGEST_LINE = 16 << 20


class Access(Struct, frozen=True, kw_only=True):
    """How the treasury is reached; the files are read when they are needed."""

    host: str
    port: int
    certificate: Path
    macaroon: Path


class Treasury:
    """Calls the treasury; it need not be there yet, nor stay as it is.

    When it does not answer, its certificate is read anew for the next call: it may
    have been renewed, or be there only now.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._session: aiohttp.ClientSession | None = None
        self._lnd: Lnd | None = None

    async def call(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        """Call once; NodeRefused with lnd's own reason, TreasuryAway without answer."""
        lnd, macaroon = await self._connected()
        try:
            return await lnd.call(method, path, body, macaroon=macaroon)
        except NodeAway as error:
            raise await self._away(error) from error

    async def stream(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Give what it tells until it ends; TreasuryAway when it breaks off."""
        lnd, macaroon = await self._connected()
        try:
            async for told in lnd.stream(method, path, body, macaroon=macaroon):
                yield told
        except NodeRefused as error:
            raise refused(error) from error
        except NodeAway as error:
            raise await self._away(error) from error

    async def close(self) -> None:
        """Let go of all connections."""
        self._lnd = None
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _connected(self) -> "tuple[Lnd, str]":
        try:
            macaroon = self._access.macaroon.read_bytes().hex()
            if self._lnd is None:
                self._lnd = await self._connect()
        except (OSError, ssl.SSLError) as error:
            raise TreasuryAway(
                why=f"the treasury's files cannot be read: {type(error).__name__}",
                retry_after_s=_RETRY_AFTER_S,
            ) from None
        return self._lnd, macaroon

    async def _connect(self) -> "Lnd":
        # At the first call and in a thread: it is a tenth of a second to import.
        client = await asyncio.to_thread(importlib.import_module, "leyden.lnd.client")
        access = self._access
        tls = await asyncio.to_thread(
            ssl.create_default_context, cafile=access.certificate
        )
        if self._session is None:
            self._session = client.aiohttp.ClientSession(
                # One connection for each stream: no more than there are open orders.
                connector=client.aiohttp.TCPConnector(limit=0),
                read_bufsize=_LONGEST_LINE,
                trust_env=False,
            )
        address = Address(host=access.host, port=access.port, name=access.host)
        lnd: Lnd = client.Lnd(self._session, address, tls)
        return lnd

    async def _away(self, error: NodeAway) -> TreasuryAway:
        self._lnd = None
        return TreasuryAway(
            why=f"the treasury does not answer: {error.message}",
            retry_after_s=_RETRY_AFTER_S,
        )


def unknown() -> TreasuryAway:
    """Say that it never made an invoice of ours: it is another treasury, or was one."""
    return TreasuryAway(
        why="the treasury does not know an invoice of ours",
        retry_after_s=_RETRY_AFTER_S,
    )


def refused(error: NodeRefused) -> TreasuryAway:
    """Say that a call was refused for a reason that is not ours: locked, starting."""
    return TreasuryAway(
        why=f"the treasury refuses: {error.message}", retry_after_s=_RETRY_AFTER_S
    )
