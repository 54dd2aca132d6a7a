"""The auction account that channels are bought from."""

from leyden.domain.units import Sats
from leyden.values import Struct

# poold buys from an account in these states; one that waits for the blocks after a
# batch goes on buying.
_BUYS = frozenset({"open", "pending_batch"})


class AuctionAccount(Struct, frozen=True, kw_only=True):
    """Our coins that can only be moved jointly with the auctioneer."""

    trader_key: str  # hex: its identity everywhere
    state: str
    sats: Sats
    available: Sats  # less what bids in the auction may take
    expires: int  # the height at which it ends
    taproot: bool  # its inputs are lighter, and cheaper

    @property
    def can_buy(self) -> bool:
        """Whether channels can be bought from the account now."""
        return self.state in _BUYS

    def renewal_due(self, height: int, *, blocks_before: int) -> bool:
        """Return whether to renew the account now: it must be open."""
        return self.state == "open" and self.expires - height <= blocks_before
