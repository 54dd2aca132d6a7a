"""The account with which channels are bought, as the auction keeps it."""

from leyden.domain.units import Sats
from leyden.values import Struct

# poold buys from an account in these states; one that waits for the blocks after a
# batch goes on buying.
_BUYS = frozenset({"open", "pending_batch"})
BLOCKS_PER_DAY = 144


class AuctionAccount(Struct, frozen=True, kw_only=True):
    """Coins of ours that only we and the auctioneer together can move."""

    trader_key: str  # hex: its identity everywhere
    state: str
    sats: Sats
    available: Sats  # less what bids in the auction may take
    expires: int  # the height at which it ends
    taproot: bool  # its inputs are lighter, and cheaper

    @property
    def buys(self) -> bool:
        """Whether a channel can be bought from it now."""
        return self.state in _BUYS

    def renewal_due(self, height: int, *, blocks_before: int) -> bool:
        """Tell whether it is to be renewed now: only an open one can be."""
        return self.state == "open" and self.expires - height <= blocks_before
