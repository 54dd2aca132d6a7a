"""Sidecar tickets, as the market reports them.

A ticket is a bearer instrument: the node that registers it gets the channel.
Only the organization that ordered it can see it; it is never stored in
plaintext.
"""

from enum import StrEnum, auto

from leyden.channels.rules.leases import Lease
from leyden.values import Struct, hiding


class TicketState(StrEnum):
    """The state of a ticket."""

    OFFERED = auto()  # not registered, or its bid is not in the auction yet
    BROKEN = auto()  # registered, but its bid was not accepted by the auction
    SUBMITTED = auto()  # its bid waits for a match
    FILLED = auto()
    CANCELLED = auto()
    MISSING = auto()  # the market does not know it: its outcome is unknown


class Ticket(Struct, frozen=True, kw_only=True):
    """A ticket that the market created for an order."""

    ref: str  # the market's id of it, not secret
    text: str

    __repr__ = hiding("text")


class NoTicket(Struct, frozen=True):
    """The market's refusal to create a ticket, with the reason."""

    why: str


class Progress(Struct, frozen=True, kw_only=True):
    """The progress of a ticket."""

    state: TicketState
    order_nonce: str = ""
    lease: Lease | None = None  # once it is filled
