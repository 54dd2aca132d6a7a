"""Tickets as a source of channels: priced, created once paid, shown, withdrawn.

1. `TicketMaker.make`: the market creates the ticket of a paid order (checkout.py), or
   returns the one it created before.
2. The held HTLC is settled, which transfers the money to us.
3. In one transaction it is booked as received, the ticket is stored, the order is
   `created`.
4. `open_ticket`: the ticket is shown. tickets.py follows it from here.

Each step may be repeated, and after a crash the next run of the same step completes it.
If step 1 or 2 is refused, all money is returned and the order is `failed` (refunds.py).
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from prometheus_client import Histogram

from leyden.base.database.stores import Stores
from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.base.tasks.steps import ClaimedTask, complete_all
from leyden.channels.batcher import Batcher
from leyden.channels.holding import credit, settle
from leyden.channels.refunds import refund
from leyden.channels.rules import ledger, pricing
from leyden.channels.rules.ledger import Reason
from leyden.channels.rules.orders import ENDED, Order, OrderEvent, OrderStatus, advance
from leyden.channels.rules.pricing import Channel, Quote
from leyden.channels.services import (
    TICKET,
    WITHDRAWAL,
    ChannelServices,
    Reserve,
    ticket_purpose,
)
from leyden.channels.tickets.rules.tickets import NoTicket, Ticket
from leyden.channels.unit_of_work import UnitOfWork
from leyden.errors import MarketAway, NotFound, SoldOut, Stale
from leyden.values import Struct

log = logging.getLogger(__name__)

_TICKET: Final = Histogram(
    "leyden_payment_to_ticket_seconds",
    "From the commit that found an order paid until the one that kept its ticket.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600),
)
_FIRST_POLL_S = 0.002
_SLOWEST_POLL_S = 0.05


class TicketSource:
    """An auction, whose tickets any node can register."""

    task = TICKET

    async def price(
        self,
        channels: ChannelServices,
        channel: Channel,
        *,
        whose: str,  # noqa: ARG002
    ) -> Quote:
        """Return the price at the auction's current terms."""
        return pricing.quote(
            channel, channels.rules.terms, await channels.market.terms()
        )

    async def prepare(self, channels: ChannelServices, order: Order) -> Reserve:
        """Raise SoldOut if nobody sells; accept the order if the auction is away."""
        try:
            await channels.market.ready(order.quote)
        except SoldOut:
            raise
        except MarketAway as error:
            log.warning(
                "accepted an order while the auction is unavailable",
                extra={"why": str(error)},
            )
        return _reserve_nothing


async def _reserve_nothing(tx: Stores, order: Order) -> None:
    """Reserve nothing: an auction has no reservations."""


# 1. The ticket is created.


class _Made(Struct, frozen=True):
    """A created ticket, with the order as it was at the request."""

    due: ClaimedTask
    order: Order
    ref: str
    sealed: bytes


class TicketMaker:
    """Creates tickets; orders in progress at the same time share transactions."""

    def __init__(self, channels: ChannelServices) -> None:
        self._channels = channels
        self._read = Batcher(self._read_all)
        self._store = Batcher(self._store_all)

    async def make(self, due: ClaimedTask) -> None:
        """Create a paid order's ticket and settle its payment, or refund it all."""
        channels = self._channels
        if (order := await self._read(due.key)) is None:
            raise NotFound
        if order.status is not OrderStatus.CREATING:
            await finish_without_ticket(channels, due)
            return
        ticket = await _offer(channels, order)
        if isinstance(ticket, NoTicket):
            log.warning(
                "no ticket was created", extra={"order": order.id, "why": ticket.why}
            )
            await refund(channels, due, order)
        elif order.held_htlc and not await _settle(channels, order):
            log.warning("the held payment is gone", extra={"order": order.id})
            await refund(channels, due, order)
        else:
            purpose = ticket_purpose(order.id)
            sealed = channels.sealer.seal(ticket.text.encode(), purpose=purpose)
            await self._store(_Made(due, order, ticket.ref, sealed))

    async def _read_all(self, order_ids: Sequence[str]) -> Iterable[Order | None]:
        found = await self._channels.database.reader.orders.get_many(order_ids)
        by_id = {order.id: order for order in found}
        return [by_id.get(order_id) for order_id in order_ids]

    async def _store_all(self, made: Sequence[_Made]) -> Iterable[None]:
        """Do step 3 for all of these; completing the tasks proves that we own them."""
        ids = [each.order.id for each in made]
        async with self._channels.database.transaction() as tx:
            now = self._channels.clock()
            work = await UnitOfWork.load(tx, ids, now=now)
            # A surplus becomes credit. That is rare, and known only after loading: then
            # lock the organizations, and read their debts again.
            if any(work.surplus(work.order(order_id)) > 0 for order_id in ids):
                work = await UnitOfWork.load(tx, ids, now=now, lock_organizations=True)
            for each in sorted(made, key=lambda each: each.order.id):
                _keep_ticket(work, each)
            await work.flush(tx)
            await complete_all(tx, [each.due for each in made])
        _observe([work.order(order_id) for order_id in ids], self._channels.clock())
        return [None] * len(made)


async def _offer(channels: ChannelServices, order: Order) -> Ticket | NoTicket:
    try:
        return await channels.market.offer(order.id, order.quote)
    except MarketAway:
        asked_since = order.paid_at or order.created
        if channels.clock() - asked_since < channels.rules.ticket_patience:
            raise
        return NoTicket("the auction did not respond in time")


# 2. The HTLC is settled.


async def _settle(channels: ChannelServices, order: Order) -> bool:
    request = order.payment_request
    return request is not None and await channels.payments.settle(request)


# 3. The payment is booked and the ticket stored.


def _keep_ticket(work: UnitOfWork, made: _Made) -> None:
    order = work.order(made.order.id)
    if order.status in ENDED:
        work.put(WITHDRAWAL, order.id)
    if order.status is not OrderStatus.CREATING:
        return
    if order.held_htlc != made.order.held_htlc:
        raise Stale(f"{order.id} was paid another way in the meantime")
    if order.held_htlc:
        order = settle(work, order)
    credit(
        work,
        order,
        work.surplus(order),
        source=ledger.held(order.id),
        what=Reason.SURPLUS,
        key=f"ticketed:{order.id}:surplus",
    )
    work.move(
        advance(
            order, OrderEvent.TICKETED, sealed_ticket=made.sealed, ticket_ref=made.ref
        )
    )


def _observe(orders: Iterable[Order], now: datetime) -> None:
    for order in orders:
        if order.status is OrderStatus.CREATED and order.paid_at is not None:
            _TICKET.observe((now - order.paid_at).total_seconds())


async def finish_without_ticket(channels: ChannelServices, due: ClaimedTask) -> None:
    """End work on an order that moved on; cancel its ticket if it ended."""
    async with due.transaction() as tx:
        work = await UnitOfWork.load(tx, [due.key], now=channels.clock())
        order = work.order(due.key)
        if order.status in ENDED and order.offered:
            work.put(WITHDRAWAL, order.id)
        await work.flush(tx)
        await due.done(tx)


# 4. The ticket is shown.


async def wait_for_ticket(channels: ChannelServices, order: Order) -> Order:
    """Wait up to `answer_waits` for the ticket of a paid order; return the order."""
    until = time.monotonic() + channels.rules.answer_waits.total_seconds()
    pause_s = _FIRST_POLL_S
    while order.status is OrderStatus.CREATING and time.monotonic() < until:
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _SLOWEST_POLL_S)
        order = await channels.database.reader.orders.get(order.id)
    return order


def open_ticket(channels: ChannelServices, order: Order) -> str:
    """Return the ticket in plaintext for its organization; "" if none yet."""
    if order.sealed_ticket is None:
        return ""
    purpose = ticket_purpose(order.id)
    return channels.sealer.open(order.sealed_ticket, purpose=purpose).decode()


# A ticket that nobody gets is withdrawn.


async def withdraw(channels: ChannelServices, due: ClaimedTask) -> None:
    """Cancel the ticket of an order that ended without it."""
    order = await channels.database.reader.orders.get(due.key)
    if order.status in ENDED - {
        OrderStatus.FILLED
    } and not await channels.market.withdraw(order.id, order.ticket_ref):
        log.error(
            "a ticket was filled after its order had ended", extra={"order": order.id}
        )
        found = Finding(
            kind=AlarmKind.ORDER_UNPAID,
            subject=order.id,
            what=f"order {order.id}: its ticket was filled after the order had ended, "
            "so the Pool account paid for a channel that nobody was charged for",
        )
        async with due.transaction() as tx:
            await tx.findings.add([found], now=channels.clock())
