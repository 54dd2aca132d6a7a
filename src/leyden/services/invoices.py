"""Payments over Lightning: held for us first, then ours or handed back.

Nothing here does I/O.
"""

from leyden import logs
from leyden.domain import ledger
from leyden.domain.ledger import Entry, What
from leyden.domain.orders import Event, Order, Status
from leyden.domain.payments import Invoice, InvoiceState
from leyden.domain.units import Sats
from leyden.services.desk import Desk
from leyden.services.holding import end, give, hold, if_all_is_held
from leyden.services.shop import CLOSING

log = logs.get()


def seen(desk: Desk, order: Order, invoice: Invoice) -> None:
    """Book what became of an order's invoice, unless that is done."""
    match invoice.state:
        case InvoiceState.ACCEPTED:
            _accepted(desk, order, invoice)
        case InvoiceState.SETTLED:
            _settled(desk, order, invoice)
        case InvoiceState.CANCELLED:
            _cancelled(desk, order)
        case InvoiceState.MISSING:
            log.error(
                "the treasury does not know an invoice of ours: is it another one?",
                order=order.id,
            )
        case InvoiceState.OPEN:
            pass


def _accepted(desk: Desk, order: Order, invoice: Invoice) -> None:
    if order.invoice in {InvoiceState.ACCEPTED, InvoiceState.SETTLED}:
        return  # seen before
    if (
        order.status is not Status.WAITING_PAYMENT
        or order.invoice is not InvoiceState.OPEN
        or invoice.sats <= 0
    ):
        desk.put(CLOSING, order.id)  # hand it back
        return
    if invoice.sats < order.to_be_paid:
        log.error(
            "the treasury took less than the invoice asks for",
            order=order.id,
            asked=order.to_be_paid,
            taken=invoice.sats,
        )
    hold(
        desk,
        order,
        invoice.sats,
        source=ledger.PROMISED,
        what=What.PROMISE,
        key=f"lightning:{order.payment_hash}:promise",
    )
    held = order.but(invoice=InvoiceState.ACCEPTED, accepted=invoice.sats)
    if_all_is_held(desk, desk.change(held))


def _settled(desk: Desk, order: Order, invoice: Invoice) -> None:
    if order.invoice is InvoiceState.SETTLED:
        return  # seen before
    if order.promised:
        if invoice.sats != order.accepted:
            log.error(
                "the treasury settled another sum than it held",
                order=order.id,
                held=order.accepted,
                settled=invoice.sats,
            )
        keep_promise(desk, order)
        return
    settled = order.but(invoice=InvoiceState.SETTLED, accepted=invoice.sats)
    book = hold if order.status is Status.WAITING_PAYMENT else give
    book(
        desk,
        order,
        invoice.sats,
        source=ledger.RECEIVED,
        what=What.PAYMENT if book is hold else What.LATE,
        key=f"lightning:{order.payment_hash}",
    )
    if_all_is_held(desk, desk.change(settled))


def _cancelled(desk: Desk, order: Order) -> None:
    if order.invoice is InvoiceState.OPEN:
        desk.change(order.but(invoice=InvoiceState.CANCELLED))
    if not order.promised:
        return
    if order.status is Status.CREATING:
        end(desk, order, Event.BROKE)
        return
    desk.post(
        [
            Entry(
                key=f"lightning:{order.payment_hash}:handed_back",
                what=What.HANDED_BACK,
                source=ledger.held(order.id),
                target=ledger.PROMISED,
                sats=order.promised,
                organization_id=order.organization_id,
                order_id=order.id,
            )
        ]
    )
    desk.change(order.but(invoice=InvoiceState.CANCELLED, accepted=Sats(0)))


def keep_promise(desk: Desk, order: Order) -> Order:
    """Book a held payment as received: it has been settled."""
    desk.post(
        [
            Entry(
                key=f"lightning:{order.payment_hash}",
                what=What.PAYMENT,
                source=ledger.RECEIVED,
                target=ledger.PROMISED,
                sats=order.promised,
                organization_id=order.organization_id,
                order_id=order.id,
            )
        ]
    )
    return desk.change(order.but(invoice=InvoiceState.SETTLED))
