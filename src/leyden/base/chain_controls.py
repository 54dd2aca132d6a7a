"""What a page can do to the private chain of `leyden up`; no other chain has it."""

from typing import Protocol


class ChainControls(Protocol):
    """A private chain, and the customer on it who pays."""

    async def mine(self, blocks: int) -> int:
        """Mine blocks; return the new height."""
        ...

    async def pay(self, invoice: str) -> int | None:
        """Pay an invoice as the customer; return the satoshis that arrived.

        None: the payment is on its way, as one that is held. Raise Conflict if it
        failed.
        """
        ...
