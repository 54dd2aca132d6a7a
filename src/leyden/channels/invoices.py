"""Invoice updates other than a held HTLC: settled, cancelled, unknown.

Nothing here does I/O.
"""

import logging
from datetime import timedelta
from typing import Final

from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.channels.holding import credit, end, hand_back, hold, settle
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Reason
from leyden.channels.rules.orders import Order, OrderEvent, OrderStatus
from leyden.channels.rules.payments import Invoice, InvoiceState, PaymentUpdate
from leyden.channels.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)

# Each sweep finds it again while it is so.
_FOUND_AGAIN_WITHIN: Final = timedelta(days=1)


def is_late(order: Order, update: PaymentUpdate) -> bool:
    """Return whether a payment was settled that its order no longer needs."""
    return (
        isinstance(update, Invoice)
        and update.state is InvoiceState.SETTLED
        and order.invoice is not InvoiceState.SETTLED
        and not order.held_htlc
        and order.status is not OrderStatus.WAITING_PAYMENT
    )


def record(work: UnitOfWork, order: Order, invoice: Invoice) -> None:
    """Book the state of an order's invoice; no-op if booked already."""
    match invoice.state:
        case InvoiceState.SETTLED:
            _settled(work, order, invoice)
        case InvoiceState.CANCELLED:
            _cancelled(work, order)
        case InvoiceState.MISSING:
            _missing(work, order)
        case _:
            pass


def _missing(work: UnitOfWork, order: Order) -> None:
    """Report an invoice that the treasury does not know, although it may be paid."""
    open_ = order.invoice is InvoiceState.OPEN and work.now < order.expires
    if not open_ and order.invoice is not InvoiceState.ACCEPTED:
        return  # lnd may delete invoices that were cancelled or ran out
    log.error(
        "the treasury does not know one of our invoices: check that it is the same lnd",
        extra={"order": order.id},
    )
    work.report(
        Finding(
            kind=AlarmKind.INVOICE_UNKNOWN,
            subject=order.id,
            what=f"order {order.id}: the treasury does not know its invoice: check "
            "that it is the same lnd, with all of its data",
            lasts=_FOUND_AGAIN_WITHIN,
        )
    )


def _settled(work: UnitOfWork, order: Order, invoice: Invoice) -> None:
    if order.invoice is InvoiceState.SETTLED:
        return  # already booked
    if order.held_htlc:
        if invoice.sats != order.htlc_sats:
            log.error(
                "the treasury settled a different amount than it held",
                extra={
                    "order": order.id,
                    "held": order.htlc_sats,
                    "settled": invoice.sats,
                },
            )
            work.report(
                Finding(
                    kind=AlarmKind.TREASURY_DIFFERS,
                    subject=order.id,
                    what=f"order {order.id}: the treasury settled {invoice.sats:,} "
                    f"sat, but held {order.htlc_sats:,}",
                )
            )
        settle(work, order)
        return
    key = f"lightning:{order.payment_hash}"
    if is_late(order, invoice):
        book, what = credit, Reason.LATE
    else:
        book, what = hold, Reason.PAYMENT
    book(work, order, invoice.sats, source=ledger.RECEIVED, what=what, key=key)
    work.change(
        order.with_changes(invoice=InvoiceState.SETTLED, htlc_sats=invoice.sats)
    )


def _cancelled(work: UnitOfWork, order: Order) -> None:
    if order.invoice is InvoiceState.OPEN:
        work.change(order.with_changes(invoice=InvoiceState.CANCELLED))
    if not order.held_htlc:
        return
    if order.may(OrderEvent.BROKE) and order.status is not OrderStatus.SUBMITTED:
        end(work, order, OrderEvent.BROKE)
        return
    # For a submitted order an opening is in progress; its result decides.
    hand_back(work, order)
