"""Moving money held for an order; the same for all payment methods.

Nothing here does I/O.
"""

from leyden.base.rules.units import Sats
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import Event, Order, advance
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.shop import CLOSING, EXPIRY, WITHDRAWAL
from leyden.channels.unit_of_work import UnitOfWork


def hold(
    work: UnitOfWork, order: Order, sats: int, *, source: str, what: Reason, key: str
) -> None:
    """Hold money for the order."""
    if sats:
        held = ledger.held(order.id)
        work.post([entry(order, sats, source=source, target=held, what=what, key=key)])


def credit(
    work: UnitOfWork, order: Order, sats: int, *, source: str, what: Reason, key: str
) -> None:
    """Credit money to the order's organization; repay its debt to us first."""
    if sats:
        work.post(
            ledger.payment_entries(
                sats,
                organization_id=order.organization_id,
                outstanding=work.outstanding(order.organization_id),
                source=source,
                what=what,
                key=key,
                order_id=order.id,
            )
        )


def settle(work: UnitOfWork, order: Order) -> Order:
    """Book a settled HTLC, held until now, as received."""
    work.post(
        [
            entry(
                order,
                order.held_htlc,
                source=ledger.RECEIVED,
                target=ledger.HELD_HTLCS,
                what=Reason.PAYMENT,
                key=f"lightning:{order.payment_hash}",
            )
        ]
    )
    return work.change(order.with_changes(invoice=InvoiceState.SETTLED))


def hand_back(work: UnitOfWork, order: Order) -> Order:
    """Book an HTLC that was cancelled although its order continues."""
    work.post(
        [
            entry(
                order,
                order.held_htlc,
                source=ledger.held(order.id),
                target=ledger.HELD_HTLCS,
                what=Reason.HANDED_BACK,
                key=f"lightning:{order.payment_hash}:handed_back",
            )
        ]
    )
    return work.change(
        order.with_changes(invoice=InvoiceState.CANCELLED, htlc_sats=Sats(0))
    )


def end(work: UnitOfWork, order: Order, event: Event) -> Order:
    """End the order and return all money it holds to where it came from."""
    holds = work.holds(order)
    # If its payment is returned, or was before, the order was never paid.
    was_returned = order.invoice is InvoiceState.CANCELLED and holds < order.total_fee
    entries = ledger.release(
        order_id=order.id,
        organization_id=order.organization_id,
        holds=holds,
        held_htlc=order.held_htlc,
        charged=order.charged,
        owes=work.owes(order.organization_id),
        outstanding=work.outstanding(order.organization_id),
        key=f"{event}:{order.id}",
    )
    work.post(entries)
    if order.held_htlc or order.invoice is InvoiceState.OPEN:
        work.put(CLOSING, order.id)
    if order.offered:
        work.put(WITHDRAWAL, order.id)
    return work.move(
        advance(
            order,
            event,
            credit_refund=Sats(order.credit_refund + ledger.credit_total(entries)),
            paid_at=None if order.held_htlc or was_returned else order.paid_at,
            invoice=InvoiceState.CANCELLED if order.held_htlc else order.invoice,
        )
    )


def reopen(work: UnitOfWork, order: Order) -> Order:
    """Wait for payment again: the chain reversed it before the ticket was created."""
    work.put(EXPIRY, order.id, due=max(work.now, order.expires))
    return work.move(advance(order, Event.REVERSED, paid_at=None))


def entry(
    order: Order,
    sats: int,
    *,
    source: str,
    target: str,
    what: Reason,
    key: str,
    note: str = "",
) -> Entry:
    """Return the entry that moves money for an order."""
    return Entry(
        key=key,
        what=what,
        source=source,
        target=target,
        sats=Sats(sats),
        organization_id=order.organization_id,
        order_id=order.id,
        note=note,
    )
