"""Tickets in the market: looked at until they are filled, cancelled or lost.

Each step moves one order as far as its ticket has come; what the database refuses of
one holds up no other.
"""

import asyncio
import math
import time
from collections.abc import Sequence

from leyden import logs
from leyden.domain import ledger
from leyden.domain.ledger import What
from leyden.domain.orders import Event, Order, Status, advance
from leyden.domain.tickets import Progress, TicketState
from leyden.domain.units import Sats
from leyden.errors import MarketAway, Stale, Violated
from leyden.services.due import Due
from leyden.services.holding import end, entry
from leyden.services.shop import Shop
from leyden.services.unit_of_work import UnitOfWork, until_not_stale

log = logs.get()

_BATCH = 500
# Whoever watches for a minute is told in a sixteenth of a second, not in a hundredth.
_WAITED_FOR_A_LOOK = 1_000


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
        if progress.state is TicketState.MISSING:
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
            work = await UnitOfWork.load(tx, [order_id], now=shop.clock())
            order = work.order(order_id)
            if order.status in {Status.CREATED, Status.SUBMITTED}:
                _moved(work, order, progress)
            await work.flush(tx)

    await until_not_stale(step)


def _moved(work: UnitOfWork, order: Order, progress: Progress) -> None:
    if progress.state is TicketState.CANCELLED:
        log.warning("a ticket was cancelled in the market", order=order.id)
        end(work, order, Event.CANCELLED)
        return
    if progress.state is TicketState.OFFERED:
        return
    if order.status is Status.CREATED:
        nonce = progress.order_nonce
        order = work.move(advance(order, Event.REGISTERED, order_nonce=nonce))
    if progress.state is TicketState.FILLED:
        _fill(work, order, progress)


def _fill(work: UnitOfWork, order: Order, progress: Progress) -> None:
    """Spend what was held: the auction's part, and ours."""
    held = work.holds(order)
    quote = order.quote
    cost = Sats(quote.pool_fee + quote.channel.self_chan_balance)
    if progress.lease is not None:
        cost = progress.lease.cost
        work.keep_lease(order.id, progress.lease)
    to_auction = min(cost, held)
    work.post(
        entry(
            order,
            sats,
            source=ledger.held(order.id),
            target=target,
            what=what,
            key=f"matched:{order.id}:{target}",
        )
        for what, target, sats in (
            (What.AUCTION, ledger.AUCTION, to_auction),
            (What.EARNED, ledger.EARNED, held - to_auction),
        )
        if sats
    )
    if cost > held:
        # The auction raised its fees after the price was told: that is our loss.
        loss = entry(
            order,
            cost - held,
            source=ledger.CORRECTIONS,
            target=ledger.AUCTION,
            what=What.AUCTION,
            key=f"matched:{order.id}:loss",
            note="the auction took more than was charged for it",
        )
        work.post([loss])
    work.move(advance(order, Event.MATCHED))
