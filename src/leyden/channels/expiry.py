"""Expiry of unpaid orders, cancellation of their invoices, deletion of strangers'.

The deadline is an absolute time, fixed when the order is created: a clock
that is set back revives no order, and a clock that jumps ahead expires no
order that has been paid.
"""

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.checkout import record_payment
from leyden.channels.holding import end
from leyden.channels.outputs import confirming
from leyden.channels.payment_sweep import look_up
from leyden.channels.rules.orders import Order, OrderEvent, OrderStatus
from leyden.channels.rules.payments import Invoice, InvoiceState, Output, PaymentUpdate
from leyden.channels.services import PRUNING, ChannelServices
from leyden.channels.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)

_EXPIRED_KEEP_FOR: Final = timedelta(days=7)  # an LSPS1 order that expired unpaid


async def expire(channels: ChannelServices, due: ClaimedTask) -> None:
    """Expire an unpaid order, after looking up its payment once more.

    A payment with too few confirmations keeps the order open. One with none does not:
    it can still be replaced, so that it would hold coins and a price for nothing. If it
    confirms after all, it becomes credit.
    """
    order = await channels.database.reader.orders.get(due.key)
    if order.status is not OrderStatus.WAITING_PAYMENT:
        return
    now = channels.clock()
    updates: list[PaymentUpdate] = []
    if now >= order.expires and (request := order.payment_request):
        updates = await look_up(channels, [request])
    async with due.transaction() as tx:
        work = await UnitOfWork.load(
            tx, [due.key], now=now, with_outputs=True, lock_organizations=True
        )
        order = work.order(due.key)
        if order.status is not OrderStatus.WAITING_PAYMENT:
            await due.done(tx)
        elif now < order.expires:
            await due.reschedule(tx, due=order.expires)
        elif now < order.expires + channels.rules.confirming_waits and _is_coming(
            work, order, updates
        ):
            await due.reschedule(tx, due=now + channels.rules.sweep_every)
        else:
            end(work, order, OrderEvent.LAPSED)
            if await tx.lsps1_orders.find(order.id):
                work.put(PRUNING, order.id, due=now + _EXPIRED_KEEP_FOR)
            await work.flush(tx)
            await due.done(tx)


def _is_coming(
    work: UnitOfWork, order: Order, updates: Iterable[PaymentUpdate]
) -> bool:
    confirmed = {
        each.outpoint
        for each in updates
        if isinstance(each, Output) and each.confirmations > 0
    }
    return work.holds(order) + confirming(work, order, confirmed) >= order.total_fee


async def prune(channels: ChannelServices, due: ClaimedTask) -> None:
    """Delete an LSPS1 order that expired without any payment, and can't get one now.

    Orders of customers stay: a late payment to an order's address becomes its credit.
    """
    async with due.transaction() as tx:
        work = await UnitOfWork.load(
            tx, [due.key], now=channels.clock(), with_outputs=True
        )
        order = work.order(due.key)
        if order.invoice is InvoiceState.OPEN:
            await due.reschedule(tx, due=work.now + _EXPIRED_KEEP_FOR)
            return
        paid = await tx.ledger.of_order(order.id) or work.outputs_of(order)
        if order.status is OrderStatus.EXPIRED and not paid:
            await tx.lsps1_orders.delete(order.id)
        await due.done(tx)


async def close_invoice(channels: ChannelServices, due: ClaimedTask) -> None:
    """Cancel a Lightning invoice no longer needed; return any held HTLC."""
    order = await channels.database.reader.orders.get(due.key)
    request = order.payment_request
    if request is None or order.held_htlc or order.invoice is InvoiceState.SETTLED:
        return
    if await channels.payments.cancel(request):
        updates = [
            Invoice(payment_hash=order.payment_hash, state=InvoiceState.CANCELLED)
        ]
    else:
        # It was settled after all: the money is ours, and becomes credit.
        log.warning(
            "a payment arrived while its invoice was being closed",
            extra={"order": order.id},
        )
        found = await channels.payments.lookup([request])
        updates = [each for each in found if isinstance(each, Invoice)]
    for update in updates:
        await record_payment(channels, update, now=channels.clock())
