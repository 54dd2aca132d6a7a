"""The steps that all ways of paying share: is everything held, and letting it go.

Credit, corporate accounts and payments are one path. Nothing here does I/O.
"""

from leyden.domain import ledger
from leyden.domain.ledger import Entry, What
from leyden.domain.orders import Event, Order, Status, advance
from leyden.domain.payments import InvoiceState
from leyden.domain.units import Sats
from leyden.services.desk import Desk
from leyden.services.shop import CLOSING, EXPIRY, TICKET, WITHDRAWAL


def if_all_is_held(desk: Desk, order: Order) -> Order:
    """Have the ticket made once the whole price is there; a part payment waits."""
    if order.status is not Status.WAITING_PAYMENT:
        return order
    if desk.holds(order) < order.total_fee:
        return order
    paid = advance(order, Event.PAID, paid_at=desk.now, offered=True)
    desk.put(TICKET, order.id)
    if order.invoice is InvoiceState.OPEN:
        # Paid another way: nobody shall pay it again over Lightning.
        desk.put(CLOSING, order.id)
    return desk.move(paid)


def hold(
    desk: Desk, order: Order, sats: int, *, source: str, what: What, key: str
) -> None:
    """Hold money for the order."""
    if sats:
        desk.post(
            [
                Entry(
                    key=key,
                    what=what,
                    source=source,
                    target=ledger.held(order.id),
                    sats=Sats(sats),
                    organization_id=order.organization_id,
                    order_id=order.id,
                )
            ]
        )


def give(
    desk: Desk, order: Order, sats: int, *, source: str, what: What, key: str
) -> None:
    """Give money to the order's organization."""
    if sats:
        desk.post(
            ledger.given(
                sats,
                organization_id=order.organization_id,
                outstanding=desk.outstanding(order),
                source=source,
                what=what,
                key=key,
                order_id=order.id,
            )
        )


def end(desk: Desk, order: Order, event: Event) -> Order:
    """End the order, and give back all it holds to where it came from."""
    entries = ledger.let_go(
        order_id=order.id,
        organization_id=order.organization_id,
        holds=desk.holds(order),
        promised=order.promised,
        charged=order.charged,
        owes=desk.owes(order),
        outstanding=desk.outstanding(order),
        key=f"{event}:{order.id}",
    )
    desk.post(entries)
    if order.promised or order.invoice is InvoiceState.OPEN:
        desk.put(CLOSING, order.id)
    if order.offered:
        desk.put(WITHDRAWAL, order.id)
    return desk.move(
        advance(
            order,
            event,
            credit_refund=Sats(order.credit_refund + ledger.credited(entries)),
            # Handed back, it was never paid.
            paid_at=None if order.promised else order.paid_at,
            invoice=InvoiceState.CANCELLED if order.promised else order.invoice,
        )
    )


def reopen(desk: Desk, order: Order) -> Order:
    """Wait for the payment again: the chain took it back before there was a ticket."""
    desk.put(EXPIRY, order.id, due=max(desk.now, order.expires))
    return desk.move(advance(order, Event.REVERSED, paid_at=None))
