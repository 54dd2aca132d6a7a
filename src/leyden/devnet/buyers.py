"""Buyers of channels on a private chain, who register tickets."""

from pathlib import Path
from typing import Any, Protocol

from leyden.devnet import access, trading, wallet


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
        network = access.load(self._home)
        async with wallet.opened(network.lnds["customer"]) as lnd:
            return await lnd.channels()
