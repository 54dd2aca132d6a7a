"""The ticket: made once, followed until it is filled, cancelled when nobody wants it.

Making one, step by step; each step may be repeated, and a crash after any of them is
made good by the next run:

1. ask the market, which finds the ticket if it was made before;
2. take the held Lightning payment, if that is how it was paid;
3. in one transaction: book it, keep the ticket, the order is `created`.

Where step 1 or 2 says no, all money goes back and the order is `failed`.
"""

import asyncio
import math
import time
from collections.abc import Sequence
from functools import partial

from leyden import logs
from leyden.domain import ledger
from leyden.domain.ledger import Entry, What
from leyden.domain.orders import ENDED, Event, Order, Status, advance
from leyden.domain.tickets import NoTicket, Progress, Ticket, TicketState
from leyden.domain.units import Sats
from leyden.errors import MarketAway, NotFound, Stale, Violated
from leyden.services.desk import Desk
from leyden.services.due import Due, end_together
from leyden.services.holding import end, give
from leyden.services.invoices import keep_promise
from leyden.services.settlement import until_not_stale
from leyden.services.shop import WITHDRAWAL, Shop, ticket_purpose
from leyden.services.together import Together
from leyden.values import dataclass

log = logs.get()

_BATCH = 500
# Whoever watches for a minute is told in a sixteenth of a second, not in a hundredth.
_WAITED_FOR_A_LOOK = 1_000


@dataclass
class _Looking:
    """Somebody who wants to see an order."""

    order_id: str
    found: Order | None = None


@dataclass(frozen=True)
class _Made:
    """A ticket that is there, for the order as it was when it was asked for."""

    due: Due
    order: Order
    ref: str
    sealed: bytes


class TicketMaker:
    """Makes tickets; those that are made at the same time are kept together."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._looked = Together(self._look)
        self._kept = Together(self._keep)

    async def make(self, due: Due) -> None:
        """Make the ticket of a paid order and take the payment; or give it all back."""
        shop = self._shop
        order = shop.paid.take(due.key) or await self._found(due.key)
        if order.status is not Status.CREATING:
            await _leave(shop, due)
            return
        ticket = await _offer(shop, order)
        if isinstance(ticket, NoTicket):
            log.warning("no ticket was made", order=order.id, why=ticket.why)
            await _break(shop, due, order)
        elif order.promised and not await _take(shop, order):
            log.warning("the held payment is gone", order=order.id)
            await _break(shop, due, order)
        else:
            purpose = ticket_purpose(order.id)
            sealed = shop.sealer.seal(ticket.text.encode(), purpose=purpose)
            await self._kept(_Made(due, order, ticket.ref, sealed))

    async def _found(self, order_id: str) -> Order:
        looking = _Looking(order_id)
        await self._looked(looking)
        if looking.found is None:
            raise NotFound
        return looking.found

    async def _look(self, looking: Sequence["_Looking"]) -> None:
        found = await self._shop.database.reader.orders.get_many(
            {each.order_id for each in looking}
        )
        by_id = {order.id: order for order in found}
        for each in looking:
            each.found = by_id.get(each.order_id)

    async def _keep(self, made: Sequence[_Made]) -> None:
        """Book each payment and keep its ticket; the order is `created`."""
        known = {each.order.id: each.order for each in made}
        async with self._shop.database.transaction() as tx:
            desk = await Desk.laid(tx, known, now=self._shop.clock(), known=known)
            for each in made:
                order = desk.order(each.order.id)
                if order.status is Status.CREATING:
                    if order.promised != each.order.promised:
                        raise Stale(f"{order.id} was paid another way meanwhile")
                    _keep(desk, order, each)
                elif order.status in ENDED:
                    desk.put(WITHDRAWAL, order.id)
            # Ending them proves that they are all still ours: else nothing is written.
            dues = [each.due for each in made]
            await desk.written(tx, partial(end_together, tx, dues))


async def _offer(shop: Shop, order: Order) -> Ticket | NoTicket:
    try:
        return await shop.market.offer(order.id, order.quote)
    except MarketAway:
        asked_since = order.paid_at or order.created
        if shop.clock() - asked_since < shop.rules.ticket_patience:
            raise
        return NoTicket("the auction did not answer in time")


async def _take(shop: Shop, order: Order) -> bool:
    request = order.payment_request
    return request is not None and await shop.payments.settle(request)


def _keep(desk: Desk, order: Order, made: _Made) -> None:
    if order.promised:
        order = keep_promise(desk, order)
    give(
        desk,
        order,
        desk.holds(order) - order.total_fee,
        source=ledger.held(order.id),
        what=What.SURPLUS,
        key=f"ticketed:{order.id}:surplus",
    )
    desk.move(
        advance(order, Event.TICKETED).but(
            sealed_ticket=made.sealed,
            ticket_ref=made.ref,
        )
    )


async def _break(shop: Shop, due: Due, order: Order) -> None:
    """Give everything back; a held payment first, for it may have become ours."""
    request = order.payment_request
    handed_back = True
    if order.promised and request is not None:
        handed_back = await shop.payments.cancel(request)
    async with due.transaction() as tx:
        desk = await Desk.laid(tx, [due.key], now=shop.clock())
        order = desk.order(due.key)
        if order.status is Status.CREATING:
            if order.promised and not handed_back:
                order = keep_promise(desk, order)
            end(desk, order, Event.BROKE)
        await desk.written(tx)
        await due.done(tx)


async def _leave(shop: Shop, due: Due) -> None:
    """Let the order go its other way; a ticket that was made for it is not wanted."""
    async with due.transaction() as tx:
        desk = await Desk.laid(tx, [due.key], now=shop.clock())
        order = desk.order(due.key)
        if order.status in ENDED and order.offered:
            desk.put(WITHDRAWAL, order.id)
        await desk.written(tx)
        await due.done(tx)


async def withdraw(shop: Shop, due: Due) -> None:
    """Cancel the ticket of an order that has ended without it."""
    order = await shop.database.reader.orders.get(due.key)
    if order.status in ENDED - {Status.FILLED} and not await shop.market.withdraw(
        order.id, order.ticket_ref
    ):
        log.error("a ticket was filled after its order had ended", order=order.id)


async def follow(shop: Shop, due: Due) -> None:
    """See how far the open tickets have come, for ever.

    A market that is away is asked again as soon: it says when it is back in no other
    way, and a buyer waits for a ticket to be seen.
    """
    rules = shop.rules
    pause = rules.tickets_every
    try:
        for look in range(rules.tickets_looks):
            if look:
                await _watch_new(shop)
            await _look_at_all(shop, tell=look == 0)
            pause = rules.tickets_pause if look else pause
    except MarketAway as error:
        pause = rules.tickets_every
        log.warning("tickets cannot be followed", why=str(error))
    async with due.transaction() as tx:
        await due.again(tx, due=shop.clock() + pause)


async def _look_at_all(shop: Shop, *, tell: bool) -> None:
    reader = shop.database.reader.orders
    for status in (Status.CREATED, Status.SUBMITTED):
        after = ""
        while batch := await reader.in_status(status, after=after, most=_BATCH):
            after = batch[-1].id
            await _follow(shop, batch, tell=tell)


async def _watch_new(shop: Shop) -> None:
    """Let time pass until all are looked at again, with an eye on those who are new.

    Each as often as its own buyer has just paid: however many others there are, and
    however new one of them is, they cost nothing meanwhile.
    """
    rules = shop.rules
    until = time.monotonic() + rules.tickets_every.total_seconds()
    looked: dict[str, float] = {}  # when, by order
    while (left := until - time.monotonic()) > 0:
        since = shop.clock() - rules.tickets_new_for
        new = await shop.database.reader.orders.ticketed_since(since, most=_BATCH)
        now, shortest, due = time.monotonic(), left, []
        for order in new:
            waited = shop.clock() - (order.paid_at or since)
            pause = max(rules.tickets_pause, waited / _WAITED_FOR_A_LOOK)
            shortest = min(shortest, pause.total_seconds())
            if now - looked.get(order.id, -math.inf) >= pause.total_seconds():
                looked[order.id] = now
                due.append(order)
        await _follow(shop, due, tell=False)
        await asyncio.sleep(shortest)


async def _follow(shop: Shop, orders: Sequence[Order], *, tell: bool) -> None:
    if not orders:
        return
    told = await shop.market.progress([order.ticket_ref for order in orders])
    for order in orders:
        if (progress := told.get(order.ticket_ref)) is None:
            continue
        if progress.state is TicketState.LOST:
            if tell:
                log.error("the market does not know a ticket of ours", order=order.id)
        elif progress.state is TicketState.BROKEN:
            await _give_up(shop, order)
        elif _is_news(order, progress):
            await _move(shop, order, progress)


async def _move(shop: Shop, order: Order, progress: Progress) -> None:
    """Move one order; what the database refuses of it holds up no other."""
    try:
        await ticket_moved(shop, order.id, progress)
    except (Stale, Violated) as error:
        log.exception("an order cannot move", order=order.id, why=error.message)


async def _give_up(shop: Shop, order: Order) -> None:
    """Cancel a ticket that its buyer registered in vain; the money is credit.

    The buyer's poold would wait with it for ever, and so cannot be given another one
    behind their back.
    """
    log.error("a ticket was registered, but the auction has no bid", order=order.id)
    try:
        cancelled = await shop.market.withdraw(order.id, order.ticket_ref)
    except MarketAway as error:
        log.warning("it is not cancelled yet", order=order.id, why=str(error))
        return
    if cancelled:
        await _move(shop, order, Progress(state=TicketState.CANCELLED))


def _is_news(order: Order, progress: Progress) -> bool:
    known = {
        Status.CREATED: TicketState.OFFERED,
        Status.SUBMITTED: TicketState.SUBMITTED,
    }
    return known.get(order.status) is not progress.state


async def ticket_moved(shop: Shop, order_id: str, progress: Progress) -> None:
    """Move the order as far as its ticket has come."""

    async def step() -> None:
        async with shop.database.transaction() as tx:
            desk = await Desk.laid(tx, [order_id], now=shop.clock())
            order = desk.order(order_id)
            if order.status in {Status.CREATED, Status.SUBMITTED}:
                _moved(desk, order, progress)
            await desk.written(tx)

    await until_not_stale(step)


def _moved(desk: Desk, order: Order, progress: Progress) -> None:
    if progress.state is TicketState.CANCELLED:
        log.warning("a ticket was cancelled in the market", order=order.id)
        end(desk, order, Event.CANCELLED)
        return
    if progress.state is TicketState.OFFERED:
        return
    if order.status is Status.CREATED:
        submitted = advance(order, Event.REGISTERED)
        order = desk.move(submitted.but(order_nonce=progress.order_nonce))
    if progress.state is TicketState.FILLED:
        _fill(desk, order, progress)


def _fill(desk: Desk, order: Order, progress: Progress) -> None:
    """Spend what was held: the auction's part, and ours."""
    held = desk.holds(order)
    quote = order.quote
    cost = Sats(quote.pool_fee + quote.channel.self_chan_balance)
    if progress.lease is not None:
        cost = progress.lease.cost
        desk.keep_lease(order.id, progress.lease)
    to_auction = min(cost, held)
    desk.post(
        Entry(
            key=f"matched:{order.id}:{target}",
            what=what,
            source=ledger.held(order.id),
            target=target,
            sats=Sats(sats),
            organization_id=order.organization_id,
            order_id=order.id,
        )
        for what, target, sats in (
            (What.AUCTION, ledger.AUCTION, to_auction),
            (What.EARNED, ledger.EARNED, held - to_auction),
        )
        if sats
    )
    if cost > held:
        # The auction raised its fees after the price was told: that is our loss.
        desk.post([_loss(order, Sats(cost - held))])
    desk.move(advance(order, Event.MATCHED))


def _loss(order: Order, sats: Sats) -> Entry:
    return Entry(
        key=f"matched:{order.id}:loss",
        what=What.AUCTION,
        source=ledger.CORRECTIONS,
        target=ledger.AUCTION,
        sats=sats,
        organization_id=order.organization_id,
        order_id=order.id,
        note="the auction took more than was charged for it",
    )
