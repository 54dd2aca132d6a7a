"""Expiry of unpaid orders, and cancellation of their invoices.

The deadline is an absolute time, fixed when the order is created: a clock
that is set back revives no order, and a clock that jumps ahead expires no
order that has been paid.
"""

import logging

from leyden.domain.orders import Event, Order, Status
from leyden.domain.payments import Invoice, InvoiceState
from leyden.services.channels.checkout import record_payment
from leyden.services.channels.holding import end
from leyden.services.channels.outputs import detected
from leyden.services.channels.payment_sweep import look_up
from leyden.services.channels.shop import Shop
from leyden.services.channels.unit_of_work import UnitOfWork
from leyden.services.shared.steps import ClaimedTask

log = logging.getLogger(__name__)


async def expire(shop: Shop, due: ClaimedTask) -> None:
    """Expire an unpaid order, after looking up its payment once more.

    A payment that is seen but not confirmed yet keeps the order open.
    """
    order = await shop.database.reader.orders.get(due.key)
    if order.status is not Status.WAITING_PAYMENT:
        return
    now = shop.clock()
    if now >= order.expires and (request := order.payment_request):
        await look_up(shop, [request])
    async with due.transaction() as tx:
        work = await UnitOfWork.load(
            tx, [due.key], now=now, with_outputs=True, lock_organizations=True
        )
        order = work.order(due.key)
        if order.status is not Status.WAITING_PAYMENT:
            await due.done(tx)
        elif now < order.expires:
            await due.reschedule(tx, due=order.expires)
        elif now < order.expires + shop.rules.detected_waits and _is_coming(
            work, order
        ):
            await due.reschedule(tx, due=now + shop.rules.sweep_every)
        else:
            end(work, order, Event.LAPSED)
            await work.flush(tx)
            await due.done(tx)


def _is_coming(work: UnitOfWork, order: Order) -> bool:
    return work.holds(order) + detected(work, order) >= order.total_fee


async def close_invoice(shop: Shop, due: ClaimedTask) -> None:
    """Cancel a Lightning invoice no longer needed; return any held HTLC."""
    order = await shop.database.reader.orders.get(due.key)
    request = order.payment_request
    if request is None or order.held_htlc or order.invoice is InvoiceState.SETTLED:
        return
    if await shop.payments.cancel(request):
        updates = [
            Invoice(payment_hash=order.payment_hash, state=InvoiceState.CANCELLED)
        ]
    else:
        # It was settled after all: the money is ours, and becomes credit.
        log.warning(
            "a payment arrived while its invoice was being closed",
            extra={"order": order.id},
        )
        found = await shop.payments.lookup([request])
        updates = [each for each in found if isinstance(each, Invoice)]
    for update in updates:
        await record_payment(shop, update, now=shop.clock())
