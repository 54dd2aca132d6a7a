"""Giving back: an order that gets no ticket, and a ticket that has no order."""

from leyden import logs
from leyden.domain.orders import ENDED, Event, Order, Status
from leyden.services.due import Due
from leyden.services.holding import end, settle
from leyden.services.shop import WITHDRAWAL, Shop
from leyden.services.unit_of_work import UnitOfWork

log = logs.get()


async def refund(shop: Shop, due: Due, order: Order) -> None:
    """Fail the order and give all back; a held HTLC first: it may be ours by now."""
    request = order.payment_request
    handed_back = True
    if order.held_htlc and request is not None:
        handed_back = await shop.payments.cancel(request)
    async with due.transaction() as tx:
        work = await UnitOfWork.load(tx, [due.key], now=shop.clock())
        order = work.order(due.key)
        if order.status is Status.CREATING:
            if order.held_htlc and not handed_back:
                order = settle(work, order)
            end(work, order, Event.BROKE)
        await work.flush(tx)
        await due.done(tx)


async def leave(shop: Shop, due: Due) -> None:
    """Let the order go its other way; a ticket that was made for it is not wanted."""
    async with due.transaction() as tx:
        work = await UnitOfWork.load(tx, [due.key], now=shop.clock())
        order = work.order(due.key)
        if order.status in ENDED and order.offered:
            work.put(WITHDRAWAL, order.id)
        await work.flush(tx)
        await due.done(tx)


async def withdraw(shop: Shop, due: Due) -> None:
    """Cancel the ticket of an order that has ended without it."""
    order = await shop.database.reader.orders.get(due.key)
    if order.status in ENDED - {Status.FILLED} and not await shop.market.withdraw(
        order.id, order.ticket_ref
    ):
        log.error("a ticket was filled after its order had ended", order=order.id)
