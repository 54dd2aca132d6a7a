"""What else becomes of an invoice than being held: settled, cancelled, not known.

Nothing here does I/O.
"""

from leyden import logs
from leyden.domain import ledger
from leyden.domain.ledger import What
from leyden.domain.orders import Event, Order, Status
from leyden.domain.payments import Invoice, InvoiceState
from leyden.domain.units import Sats
from leyden.services.holding import credit, end, entry, hold, settle
from leyden.services.unit_of_work import UnitOfWork

log = logs.get()


def seen(work: UnitOfWork, order: Order, invoice: Invoice) -> None:
    """Book what became of an order's invoice, unless that is done."""
    match invoice.state:
        case InvoiceState.SETTLED:
            _settled(work, order, invoice)
        case InvoiceState.CANCELLED:
            _cancelled(work, order)
        case InvoiceState.MISSING:
            log.error(
                "the treasury does not know an invoice of ours: is it another one?",
                order=order.id,
            )
        case _:
            pass


def _settled(work: UnitOfWork, order: Order, invoice: Invoice) -> None:
    if order.invoice is InvoiceState.SETTLED:
        return  # seen before
    if order.held_htlc:
        if invoice.sats != order.htlc_sats:
            log.error(
                "the treasury settled another sum than it held",
                order=order.id,
                held=order.htlc_sats,
                settled=invoice.sats,
            )
        settle(work, order)
        return
    key = f"lightning:{order.payment_hash}"
    if order.status is Status.WAITING_PAYMENT:
        book, what = hold, What.PAYMENT
    else:
        book, what = credit, What.LATE
    book(work, order, invoice.sats, source=ledger.RECEIVED, what=what, key=key)
    work.change(order.but(invoice=InvoiceState.SETTLED, htlc_sats=invoice.sats))


def _cancelled(work: UnitOfWork, order: Order) -> None:
    if order.invoice is InvoiceState.OPEN:
        work.change(order.but(invoice=InvoiceState.CANCELLED))
    if not order.held_htlc:
        return
    if order.status is Status.CREATING:
        end(work, order, Event.BROKE)
        return
    work.post(
        [
            entry(
                order,
                order.held_htlc,
                source=ledger.held(order.id),
                target=ledger.HELD_HTLCS,
                what=What.HANDED_BACK,
                key=f"lightning:{order.payment_hash}:handed_back",
            )
        ]
    )
    work.change(order.but(invoice=InvoiceState.CANCELLED, htlc_sats=Sats(0)))
