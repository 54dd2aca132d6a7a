"""What the dashboard's buttons do on a private chain."""

import asyncio
import logging
from pathlib import Path
from typing import Any, Final

from leyden.errors import LeydenError
from leyden_workshop.devnet import actions, trading

log = logging.getLogger(__name__)

# A payment of an order is held until its channel is published.
_WAITS_S: Final = 5.0


class PrivateChainControls:
    """The chain of a home, with its customer."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._paying: set[asyncio.Task[dict[str, Any]]] = set()

    async def mine(self, blocks: int) -> int:
        """Mine blocks; return the new height."""
        return await actions.mine(self._home, blocks)

    async def pay(self, invoice: str) -> int | None:
        """Pay an invoice as the customer; return the satoshis that arrived.

        None: the payment is on its way, and goes on.
        """
        paying = asyncio.create_task(trading.pay(self._home, invoice))
        self._paying.add(paying)
        paying.add_done_callback(self._ended)
        done, _ = await asyncio.wait({paying}, timeout=_WAITS_S)
        return int(paying.result()["paid_sats"]) if done else None

    def _ended(self, paying: "asyncio.Task[dict[str, Any]]") -> None:
        self._paying.discard(paying)
        if not paying.cancelled() and isinstance(paying.exception(), LeydenError):
            reason = str(paying.exception())
            log.info("the customer's payment failed", extra={"reason": reason})
