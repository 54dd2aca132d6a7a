"""Unpaid orders end on time, and nobody pays into an invoice that has lost its order.

The time is an absolute one, fixed when the order was made: a clock that is set back
revives nothing, and one that jumps ahead ends no order that has been paid.
"""

from leyden import logs
from leyden.domain.orders import Event, Order, Status
from leyden.domain.payments import Invoice, InvoiceState
from leyden.services.checkout import record_payment
from leyden.services.due import Due
from leyden.services.holding import end
from leyden.services.outputs import detected
from leyden.services.shop import Shop
from leyden.services.sweep import look_for
from leyden.services.unit_of_work import UnitOfWork

log = logs.get()


async def lapse(shop: Shop, due: Due) -> None:
    """End an order that was not paid in time; look for its payment first.

    A payment that is seen but not confirmed yet stops the clock.
    """
    order = await shop.database.reader.orders.get(due.key)
    if order.status is not Status.WAITING_PAYMENT:
        return
    now = shop.clock()
    if now >= order.expires and (request := order.payment_request):
        await look_for(shop, [request])
    async with due.transaction() as tx:
        work = await UnitOfWork.load(tx, [due.key], now=now, with_outputs=True)
        order = work.order(due.key)
        if order.status is not Status.WAITING_PAYMENT:
            await due.done(tx)
        elif now < order.expires:
            await due.again(tx, due=order.expires)
        elif now < order.expires + shop.rules.detected_waits and _is_coming(
            work, order
        ):
            await due.again(tx, due=now + shop.rules.sweep_every)
        else:
            end(work, order, Event.LAPSED)
            await work.flush(tx)
            await due.done(tx)


def _is_coming(work: UnitOfWork, order: Order) -> bool:
    return work.holds(order) + detected(work, order) >= order.total_fee


async def close_invoice(shop: Shop, due: Due) -> None:
    """Cancel a Lightning invoice that is wanted no more, handing back what is held."""
    order = await shop.database.reader.orders.get(due.key)
    request = order.payment_request
    if request is None or order.held_htlc or order.invoice is InvoiceState.SETTLED:
        return
    if await shop.payments.cancel(request):
        told = [Invoice(payment_hash=order.payment_hash, state=InvoiceState.CANCELLED)]
    else:
        # It was taken after all: the money is ours, and becomes credit.
        log.warning("a payment came in as its invoice was closed", order=order.id)
        looked = await shop.payments.look([request])
        told = [each for each in looked if isinstance(each, Invoice)]
    for update in told:
        await record_payment(shop, update, now=shop.clock())
