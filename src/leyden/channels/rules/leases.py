"""Leased channels: what an order buys, from the auction or from the seller."""

from typing import Final

from leyden.base.rules.units import BLOCKS_PER_WEEK, Sats
from leyden.values import Struct

# The last event that was announced for a lease.
NOTHING: Final = 0
ENDING: Final = 1
ENDED: Final = 2


class Lease(Struct, frozen=True, kw_only=True):
    """The leased channel of an order and its cost, which proves the delivery."""

    channel_point: str  # txid:output
    premium: Sats
    execution_fee: Sats
    chain_fee: Sats
    self_chan_balance: Sats
    node: str = ""  # public key of the node that has the channel; "" is unknown
    peer: str = ""  # the same of the seller's node
    height: int = 0  # of the chain when the lease was first seen; 0 is unknown
    extended: int = 0  # blocks that were bought since, after the order's own
    # Whether it is extended by itself: for how many blocks (0: not), up to which price.
    auto_blocks: int = 0
    auto_most: Sats = Sats(0)

    @property
    def cost(self) -> Sats:
        """The total that the auction charged."""
        return Sats(
            self.premium + self.execution_fee + self.chain_fee + self.self_chan_balance
        )


def due_event(ends: int, height: int) -> int:
    """Return the event that must be announced for a lease at this block."""
    if height >= ends:
        return ENDED
    return ENDING if height >= ends - BLOCKS_PER_WEEK else NOTHING
