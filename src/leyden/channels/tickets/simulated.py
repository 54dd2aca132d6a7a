"""A simulated market: tickets without channels, for trying things out.

A ticket is derived from the order's id, so the second offer returns the
first one's. The state can be stored in a file, so that it survives a
restart, and several programs see the same market.
"""

import contextlib
import fcntl
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from leyden.base.files import write_private
from leyden.base.rules.units import Sats
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.pricing import AuctionTerms, Quote
from leyden.channels.tickets.rules.tickets import (
    NoTicket,
    Progress,
    Ticket,
    TicketState,
)
from leyden.errors import MarketAway, SoldOut

_HEIGHT = 850_000  # there is no chain: it is always that high


class _StoredTicket(msgspec.Struct):
    """A stored ticket."""

    text: str
    state: TicketState
    cost: int
    self_chan_balance: int = 0


class SimulatedMarket:
    """A market that creates tickets at once; tests register and fill them."""

    def __init__(self, file: Path | None = None) -> None:
        self.away = False
        self.answers_lost = 0  # so many of the next answers never arrive
        self.refuses = ""  # why no ticket is made, if none is
        self.sold_out = False
        self.auction = AuctionTerms()
        self._file = file
        self._tickets: dict[str, _StoredTicket] = {}

    async def terms(self) -> AuctionTerms:
        """Return the auction's terms."""
        self._answer()
        return self.auction

    async def ready(self, quote: Quote) -> None:  # noqa: ARG002  there is always room
        """Check that a channel can be bought: yes, unless set otherwise."""
        self._answer()
        if self.sold_out:
            raise SoldOut(retry_after_s=60)

    async def offer(self, order_id: str, quote: Quote) -> Ticket | NoTicket:
        """Derive the order's ticket."""
        self._answer()
        ref = _ref(order_id)
        with self._held():
            if (ticket := self._tickets.get(ref)) is None:
                if self.refuses:
                    return NoTicket(self.refuses)
                ticket = _StoredTicket(
                    text=f"sidecar1{hashlib.sha256(ref.encode()).hexdigest()}",
                    state=TicketState.OFFERED,
                    cost=quote.auction_share,
                    self_chan_balance=quote.channel.self_chan_balance,
                )
                self._tickets[ref] = ticket
                self._save()
        self._lose()
        if ticket.state is TicketState.CANCELLED:
            return NoTicket("the ticket was cancelled")
        return Ticket(ref=ref, text=ticket.text)

    async def progress(self, refs: Sequence[str]) -> Mapping[str, Progress]:
        """Return the progress of these tickets."""
        self._answer()
        with self._held():
            tickets = self._tickets
        return {
            ref: Progress(state=TicketState.MISSING)
            if (ticket := tickets.get(ref)) is None
            else Progress(
                state=ticket.state,
                order_nonce=(
                    hashlib.sha256(ticket.text.encode()).hexdigest()
                    if ticket.state in {TicketState.SUBMITTED, TicketState.FILLED}
                    else ""
                ),
                lease=_lease(ticket) if ticket.state is TicketState.FILLED else None,
            )
            for ref in refs
        }

    async def withdraw(self, order_id: str, ref: str) -> bool:
        """Cancel the order's ticket."""
        self._answer()
        with self._held():
            ticket = self._tickets.get(ref or _ref(order_id))
            if ticket is None:
                if ref:
                    raise MarketAway("the market does not know the ticket")
                return True
            if ticket.state is not TicketState.FILLED:
                self._become(ticket, TicketState.CANCELLED)
        self._lose()
        return ticket.state is TicketState.CANCELLED

    def _answer(self) -> None:
        if self.away:
            raise MarketAway(retry_after_s=5)

    def _lose(self) -> None:
        if self.answers_lost:
            self.answers_lost -= 1
            raise MarketAway(retry_after_s=5)

    # What buyers and sellers do.

    def tickets(self) -> dict[str, TicketState]:
        """Return every ticket that was created, by its ref."""
        return {ref: ticket.state for ref, ticket in self._tickets.items()}

    def register(self, text: str) -> bool:
        """Register a ticket as a buyer's poold does; return False if unknown."""
        return self._step(text, TicketState.OFFERED, TicketState.SUBMITTED)

    def match(self, text: str, *, unused: int = 0) -> bool:
        """Fill a registered ticket; return False if there is no such ticket.

        The channel costs so much less than the order allows; the usual market takes
        all it may.
        """
        return self._step(
            text, TicketState.SUBMITTED, TicketState.FILLED, unused=unused
        )

    def register_with_refused_bid(self, text: str) -> bool:
        """Register a ticket whose bid the auction refuses."""
        return self._step(text, TicketState.OFFERED, TicketState.BROKEN)

    def cancel(self, text: str) -> bool:
        """Cancel a ticket behind the platform's back."""
        return self._step(text, TicketState.OFFERED, TicketState.CANCELLED)

    def forget(self, text: str) -> None:
        """Forget a ticket, as a poold that lost its database does."""
        with self._held():
            self._tickets = {
                ref: ticket
                for ref, ticket in self._tickets.items()
                if ticket.text != text
            }
            self._save()

    def _step(
        self, text: str, before: TicketState, after: TicketState, *, unused: int = 0
    ) -> bool:
        with self._held():
            for ticket in self._tickets.values():
                if ticket.text == text and ticket.state is before:
                    ticket.cost -= unused
                    self._become(ticket, after)
                    return True
        return False

    def _become(self, ticket: _StoredTicket, state: TicketState) -> None:
        ticket.state = state
        self._save()

    def _held(self) -> AbstractContextManager[None]:
        """Lock the stored state for a change; load other programs' changes."""
        if self._file is None:
            return contextlib.nullcontext()
        return self._locked(self._file)

    @contextlib.contextmanager
    def _locked(self, file: Path) -> Iterator[None]:
        with file.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if file.exists():
                content = file.read_bytes()
                self._tickets = msgspec.json.decode(
                    content, type=dict[str, _StoredTicket]
                )
            yield

    def _save(self) -> None:
        if self._file is None:
            return
        write_private(self._file, msgspec.json.encode(self._tickets))


def _lease(ticket: _StoredTicket) -> Lease:
    return Lease(
        channel_point=f"{hashlib.sha256(ticket.text.encode()).hexdigest()}:0",
        premium=Sats(ticket.cost - ticket.self_chan_balance),
        execution_fee=Sats(0),
        chain_fee=Sats(0),
        self_chan_balance=Sats(ticket.self_chan_balance),
        node=_pubkey(f"node {ticket.text}"),
        peer=_pubkey(f"peer {ticket.text}"),
        height=_HEIGHT,
    )


def _pubkey(name: str) -> str:
    return f"02{hashlib.sha256(name.encode()).hexdigest()}"


def _ref(order_id: str) -> str:
    return hashlib.sha256(order_id.encode()).hexdigest()[:16]
