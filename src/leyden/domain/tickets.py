"""Sidecar tickets, as the market reports them.

A ticket is a bearer instrument: its registration gets the channel. The
ticket is shown to the organization that ordered it, and written nowhere
else in plaintext.
"""

from enum import StrEnum, auto

from leyden.domain.units import Sats
from leyden.values import Struct, hiding


class TicketState(StrEnum):
    """The state of a ticket."""

    OFFERED = auto()  # nobody registered it, or its bid is not in the auction yet
    BROKEN = auto()  # it was registered, and its bid did not get into the auction
    SUBMITTED = auto()  # its bid waits for a match
    FILLED = auto()
    CANCELLED = auto()
    MISSING = auto()  # the market does not know it: its outcome is unknown


class Ticket(Struct, frozen=True, kw_only=True):
    """A ticket that the market created for an order."""

    ref: str  # what the market calls it; no secret
    text: str

    __repr__ = hiding("text")


class NoTicket(Struct, frozen=True):
    """The market's refusal to create a ticket, with the reason."""

    why: str


class Lease(Struct, frozen=True, kw_only=True):
    """The channel leased for a ticket, and its cost: the proof of delivery."""

    channel_point: str  # txid:output
    premium: Sats
    execution_fee: Sats
    chain_fee: Sats
    self_chan_balance: Sats
    node: str = ""  # public key of the node that has the channel; "" is not known
    peer: str = ""  # ... and of the seller's
    height: int = 0  # of the chain when the lease was seen first; 0 is not known

    @property
    def cost(self) -> Sats:
        """The total that the auction charged."""
        return Sats(
            self.premium + self.execution_fee + self.chain_fee + self.self_chan_balance
        )


class Progress(Struct, frozen=True, kw_only=True):
    """The progress of a ticket."""

    state: TicketState
    order_nonce: str = ""
    lease: Lease | None = None  # once it is filled
