"""Refunds: orders without a ticket, and tickets without an order."""

import logging

from leyden.base.rules.alarms import Finding, Kind
from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.holding import end, settle
from leyden.channels.rules.orders import ENDED, Event, Order, Status
from leyden.channels.shop import WITHDRAWAL, Shop
from leyden.channels.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)


async def refund(
    shop: Shop, due: ClaimedTask, order: Order, *, channel_point: str = ""
) -> None:
    """Fail the order and refund its payments; cancel a held HTLC first.

    `channel_point` is of a channel that may open nevertheless: the operator is told.

    If the HTLC cannot be cancelled, it has been settled and is ours: the
    order's money becomes credit. If another process has claimed the task, nothing
    is cancelled: that process may be opening the channel that the HTLC pays for.
    """
    request = order.payment_request
    handed_back = True
    if order.held_htlc and request is not None:
        await shop.database.reader.tasks.check_held(due.claim)
        handed_back = await shop.payments.cancel(request)
    async with due.transaction() as tx:
        work = await UnitOfWork.load(
            tx, [due.key], now=shop.clock(), lock_organizations=True
        )
        order = work.order(due.key)
        if order.may(Event.BROKE):
            if order.held_htlc and not handed_back:
                order = settle(work, order)
            if channel_point:
                order = work.change(order.with_changes(channel_point=channel_point))
            end(work, order, Event.BROKE)
        await work.flush(tx)
        await due.done(tx)


async def finish_without_ticket(shop: Shop, due: ClaimedTask) -> None:
    """End work on an order that moved on; cancel its ticket if it ended."""
    async with due.transaction() as tx:
        work = await UnitOfWork.load(tx, [due.key], now=shop.clock())
        order = work.order(due.key)
        if order.status in ENDED and order.offered:
            work.put(WITHDRAWAL, order.id)
        await work.flush(tx)
        await due.done(tx)


async def withdraw(shop: Shop, due: ClaimedTask) -> None:
    """Cancel the ticket of an order that ended without it."""
    order = await shop.database.reader.orders.get(due.key)
    if order.status in ENDED - {Status.FILLED} and not await shop.market.withdraw(
        order.id, order.ticket_ref
    ):
        log.error(
            "a ticket was filled after its order had ended", extra={"order": order.id}
        )
        found = Finding(
            kind=Kind.ORDER_UNPAID,
            subject=order.id,
            what=f"order {order.id}: its ticket was filled after the order had ended, "
            "so the Pool account paid for a channel that nobody was charged for",
        )
        async with due.transaction() as tx:
            await tx.findings.add([found], now=shop.clock())
