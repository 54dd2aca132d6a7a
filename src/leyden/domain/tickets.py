"""Sidecar tickets, as the market tells of them.

A ticket is a bearer instrument: whoever registers it has the channel. It is shown to
the organization that ordered it, and written nowhere else in the clear.
"""

from dataclasses import dataclass, field
from enum import StrEnum, auto

from leyden.domain.units import Sats


class TicketState(StrEnum):
    """How far a ticket has come."""

    OFFERED = auto()  # nobody registered it, or its bid is not in the auction yet
    SUBMITTED = auto()  # its bid waits for a match
    FILLED = auto()
    CANCELLED = auto()


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """A ticket that the market made for an order."""

    ref: str  # what the market calls it; no secret
    text: str = field(repr=False)


@dataclass(frozen=True)
class NoTicket:
    """The market will not make one, and why."""

    why: str


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a ticket stands."""

    state: TicketState
    order_nonce: str = ""
    cost: Sats | None = None  # what the auction took for it, once it is filled
