"""Follow tickets in the market until they are filled, cancelled or missing.

Each step advances one order to the state of its ticket; an order that the
database rejects does not delay the others.
"""

import asyncio
import logging
import math
import time
from collections.abc import Sequence

from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.holding import end, fill
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, OrderEvent, OrderStatus, advance
from leyden.channels.services import ChannelServices
from leyden.channels.tickets.rules.tickets import Progress, TicketState
from leyden.channels.unit_of_work import UnitOfWork, retry_while_stale
from leyden.errors import MarketAway, Stale, Violated

log = logging.getLogger(__name__)

_BATCH = 500
# A buyer who has waited for a minute sees a change within 1/16 s instead of 1/100 s.
_WAIT_PER_PAUSE = 1_000
_RETURNS_MONEY = frozenset({TicketState.FILLED, TicketState.CANCELLED})


async def follow(channels: ChannelServices, due: ClaimedTask) -> None:
    """Poll the open tickets and move their orders; the task never ends.

    While the market is unavailable the interval stays the same: polling is
    the only way to see that the market is back, and buyers are waiting.
    """
    rules = channels.rules
    pause = rules.tickets_every
    try:
        for poll in range(rules.tickets_polls):
            if poll:
                await _poll_new(channels)
            await _poll_all(channels, report_missing=poll == 0)
            pause = rules.tickets_pause if poll else pause
    except MarketAway as error:
        pause = rules.tickets_every
        log.warning("can't follow tickets", extra={"why": str(error)})
    async with due.transaction() as tx:
        await due.reschedule(tx, due=channels.clock() + pause)


async def _poll_all(channels: ChannelServices, *, report_missing: bool) -> None:
    reader = channels.database.reader.orders
    for status in (OrderStatus.CREATED, OrderStatus.SUBMITTED):
        after = ""
        while batch := await reader.in_status(status, after=after, limit=_BATCH):
            after = batch[-1].id
            with_ticket = [each for each in batch if each.has_open_ticket]
            await _follow(channels, with_ticket, report_missing=report_missing)


async def _poll_new(channels: ChannelServices) -> None:
    """Wait for the next poll of all tickets; poll new tickets more often.

    The interval for each ticket depends only on how long ago its own buyer
    paid. Other tickets, however many or new, do not affect it.
    """
    rules = channels.rules
    until = time.monotonic() + rules.tickets_every.total_seconds()
    polled: dict[str, float] = {}  # when, by order
    while (left := until - time.monotonic()) > 0:
        since = channels.clock() - rules.tickets_new_for
        new = await channels.database.reader.orders.ticketed_since(since, limit=_BATCH)
        now, shortest, due = time.monotonic(), left, []
        for order in new:
            waited = channels.clock() - (order.paid_at or since)
            pause = max(rules.tickets_pause, waited / _WAIT_PER_PAUSE)
            shortest = min(shortest, pause.total_seconds())
            if now - polled.get(order.id, -math.inf) >= pause.total_seconds():
                polled[order.id] = now
                due.append(order)
        await _follow(channels, due, report_missing=False)
        await asyncio.sleep(shortest)


async def _follow(
    channels: ChannelServices, orders: Sequence[Order], *, report_missing: bool
) -> None:
    if not orders:
        return
    progress_by_ref = await channels.market.progress(
        [order.ticket_ref for order in orders]
    )
    for order in orders:
        if (progress := progress_by_ref.get(order.ticket_ref)) is None:
            continue
        if progress.state is TicketState.MISSING:
            if report_missing:
                log.error(
                    "the market does not know a ticket of ours",
                    extra={"order": order.id},
                )
        elif progress.state is TicketState.BROKEN:
            await _cancel_broken_ticket(channels, order)
        elif _has_changed(order, progress):
            await _move(channels, order, progress)


async def _move(channels: ChannelServices, order: Order, progress: Progress) -> None:
    """Move one order; log and skip an order that the database rejects."""
    try:
        await apply_progress(channels, order.id, progress)
    except (Stale, Violated) as error:
        log.exception(
            "an order can't advance", extra={"order": order.id, "why": error.message}
        )


async def _cancel_broken_ticket(channels: ChannelServices, order: Order) -> None:
    """Cancel a registered ticket without a bid; the payment becomes credit.

    The buyer's poold would wait for this ticket forever, and the buyer would
    have to register a new one, so we do not replace the ticket.
    """
    log.error(
        "a ticket was registered, but the auction has no bid", extra={"order": order.id}
    )
    try:
        cancelled = await channels.market.withdraw(order.id, order.ticket_ref)
    except MarketAway as error:
        log.warning("not cancelled yet", extra={"order": order.id, "why": str(error)})
        return
    if cancelled:
        await _move(channels, order, Progress(state=TicketState.CANCELLED))


def _has_changed(order: Order, progress: Progress) -> bool:
    known = {
        OrderStatus.CREATED: TicketState.OFFERED,
        OrderStatus.SUBMITTED: TicketState.SUBMITTED,
    }
    return known.get(order.status) is not progress.state


async def apply_progress(
    channels: ChannelServices, order_id: str, progress: Progress
) -> None:
    """Advance the order to the state of its ticket."""

    async def step() -> None:
        async with channels.database.transaction() as tx:
            work = await UnitOfWork.load(
                tx,
                [order_id],
                now=channels.clock(),
                lock_organizations=progress.state in _RETURNS_MONEY,
            )
            order = work.order(order_id)
            if order.has_open_ticket:
                _apply(work, order, progress)
            await work.flush(tx)

    await retry_while_stale(step)


def _apply(work: UnitOfWork, order: Order, progress: Progress) -> None:
    if progress.state is TicketState.CANCELLED:
        log.warning("a ticket was cancelled in the market", extra={"order": order.id})
        end(work, order, OrderEvent.CANCELLED)
        return
    if progress.state is TicketState.OFFERED:
        return
    if progress.state is TicketState.FILLED and progress.lease is None:
        # Its cost, and so the refund, is unknown: wait for the next poll.
        log.warning("a filled ticket has no lease yet", extra={"order": order.id})
        return
    if order.status is OrderStatus.CREATED:
        nonce = progress.order_nonce
        order = work.move(advance(order, OrderEvent.REGISTERED, order_nonce=nonce))
    if progress.state is TicketState.FILLED and progress.lease is not None:
        fill(work, order, progress.lease, account=ledger.AUCTION, payee="auction")
