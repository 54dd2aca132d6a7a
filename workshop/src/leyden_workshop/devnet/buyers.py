"""Buyers of channels on a private chain, who register tickets."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

from leyden_workshop.devnet import access, trading, wallet


class Buyer(Protocol):
    """A buyer with an lnd and a poold."""

    async def register(self, ticket: str) -> None:
        """Register a ticket, so that this buyer gets the channel."""
        ...

    async def channels(self) -> list[dict[str, Any]]:
        """List the lnd's open channels, as lnd returns them."""
        ...


class Customer:
    """The chain's own customer as a buyer."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def register(self, ticket: str) -> None:
        """Register a ticket, so that this buyer gets the channel."""
        await trading.register(self._home, ticket)

    async def channels(self) -> list[dict[str, Any]]:
        """List the lnd's open channels, as lnd returns them."""
        async with self._wallet() as lnd:
            return await lnd.channels()

    async def key(self) -> str:
        """Return the node's public key."""
        async with self._wallet() as lnd:
            return await lnd.key()

    async def invoice(self, sats: int) -> str:
        """Return an invoice that names private channels, too."""
        async with self._wallet() as lnd:
            return await lnd.invoice(sats)

    def _wallet(self) -> AbstractAsyncContextManager[wallet.Wallet]:
        return wallet.opened(access.load(self._home).lnds["customer"])
