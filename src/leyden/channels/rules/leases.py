"""Leased channels: what an order buys, from the auction or from the seller."""

from leyden.base.rules.units import Sats
from leyden.values import Struct


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

    @property
    def cost(self) -> Sats:
        """The total that the auction charged."""
        return Sats(
            self.premium + self.execution_fee + self.chain_fee + self.self_chan_balance
        )
