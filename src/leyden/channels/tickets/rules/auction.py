"""The auction account that channels are bought from."""

from leyden.base.rules.units import Sats
from leyden.values import Struct

# poold buys from an account in these states, also while it waits for confirmations
# after a batch.
_BUYS = frozenset({"open", "pending_batch"})


class AuctionAccount(Struct, frozen=True, kw_only=True):
    """Our coins that can only be moved jointly with the auctioneer."""

    trader_key: str  # hex: the account's id
    state: str
    sats: Sats
    available: Sats  # without what bids in the auction may take
    expires: int  # the block height at which it expires
    taproot: bool  # its inputs are lighter, and cheaper

    @property
    def can_buy(self) -> bool:
        """Whether channels can be bought from the account now."""
        return self.state in _BUYS

    def renewal_due(self, height: int, *, blocks_before: int) -> bool:
        """Return whether to renew the account now: it must be open."""
        return self.state == "open" and self.expires - height <= blocks_before
