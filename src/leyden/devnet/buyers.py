"""Who buys channels on a private chain: whoever registers tickets with a poold."""

from pathlib import Path
from typing import Any, Protocol

from leyden.devnet import access, trading, wallet


class Buyer(Protocol):
    """Somebody with an lnd, and a poold beside it."""

    async def register(self, ticket: str) -> None:
        """Take a ticket: the channel will be this buyer's."""
        ...

    async def channels(self) -> list[dict[str, Any]]:
        """List the lnd's open channels as lnd tells of them."""
        ...


class Customer:
    """The one that comes with the chain."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def register(self, ticket: str) -> None:
        """Take a ticket: the channel will be this buyer's."""
        await trading.register(self._home, ticket)

    async def channels(self) -> list[dict[str, Any]]:
        """List the lnd's open channels as lnd tells of them."""
        network = access.load(self._home)
        async with wallet.opened(network.lnds["customer"]) as lnd:
            return await lnd.channels()
