"""Sidecar tickets, as the market tells of them.

A ticket is a bearer instrument: whoever registers it has the channel. It is shown to
the organization that ordered it, and written nowhere else in the clear.
"""

from enum import StrEnum, auto

from leyden.domain.units import Sats
from leyden.values import Struct, hiding


class TicketState(StrEnum):
    """How far a ticket has come."""

    OFFERED = auto()  # nobody registered it, or its bid is not in the auction yet
    BROKEN = auto()  # it was registered, and its bid did not get into the auction
    SUBMITTED = auto()  # its bid waits for a match
    FILLED = auto()
    CANCELLED = auto()
    MISSING = auto()  # the market does not know it: what becomes of it nobody can tell


class Ticket(Struct, frozen=True, kw_only=True):
    """A ticket that the market made for an order."""

    ref: str  # what the market calls it; no secret
    text: str

    __repr__ = hiding("text")


class NoTicket(Struct, frozen=True):
    """The market will not make one, and why."""

    why: str


class Lease(Struct, frozen=True, kw_only=True):
    """The channel that a ticket became, and what it cost: the proof of delivery."""

    channel_point: str  # txid:output
    premium: Sats
    execution_fee: Sats
    chain_fee: Sats
    self_chan_balance: Sats

    @property
    def cost(self) -> Sats:
        """What the auction took for it in all."""
        return Sats(
            self.premium + self.execution_fee + self.chain_fee + self.self_chan_balance
        )


class Progress(Struct, frozen=True, kw_only=True):
    """Where a ticket stands."""

    state: TicketState
    order_nonce: str = ""
    lease: Lease | None = None  # once it is filled
