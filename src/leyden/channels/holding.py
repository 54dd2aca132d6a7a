"""The money of an order: held, returned when it ends, spent when it is filled.

The same for all payment methods. Nothing here does I/O.
"""

from collections.abc import Iterable

from leyden.base.rules.units import Sats
from leyden.channels.rules import ledger
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import Order, OrderEvent, advance
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.services import CLOSING, EXPIRY, WITHDRAWAL
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


def end(work: UnitOfWork, order: Order, event: OrderEvent) -> Order:
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
    return work.move(advance(order, OrderEvent.REVERSED, paid_at=None))


def fill(
    work: UnitOfWork, order: Order, lease: Lease, *, account: str, payee: str
) -> None:
    """Spend the money held for the order: the seller's share, and our fee.

    What the seller did not use of its share goes back to the buyer. `account` is the
    seller's in the ledger, `payee` the same in words.
    """
    held = work.holds(order)
    to_seller = min(lease.cost, held)
    unused = min(order.unused_fee(lease), held - to_seller)
    work.keep_lease(order.id, lease)
    _refund_unused(work, order, unused)
    work.post(
        entry(
            order,
            sats,
            source=ledger.held(order.id),
            target=target,
            what=what,
            key=f"matched:{order.id}:{target}",
        )
        for what, target, sats in (
            (Reason.AUCTION, account, to_seller),
            (Reason.EARNED, ledger.EARNED, held - to_seller - unused),
        )
        if sats
    )
    if lease.cost > held:
        # The auction raised its fees after the quote: we pay the difference.
        loss = entry(
            order,
            lease.cost - held,
            source=ledger.CORRECTIONS,
            target=account,
            what=Reason.AUCTION,
            key=f"matched:{order.id}:loss",
            note=f"the {payee} took more than was charged for it",
        )
        work.post([loss])
    work.move(advance(order, OrderEvent.MATCHED))


def _refund_unused(work: UnitOfWork, order: Order, unused: int) -> None:
    """Refund to the buyer what the auction did not use.

    This lowers a corporate account's charge for the order as far as it is still
    owed, then repays reversed payments; the rest becomes credit.
    """
    work.post(
        ledger.release(
            order_id=order.id,
            organization_id=order.organization_id,
            holds=unused,
            held_htlc=0,  # it was settled before the ticket was stored
            charged=order.charged,
            owes=work.owes(order.organization_id),
            outstanding=work.outstanding(order.organization_id),
            key=f"{ledger.UNUSED_FEE}{order.id}",
        )
    )


def undo(work: UnitOfWork, order: Order, entries: Iterable[Entry]) -> Order:
    """Fail a filled order whose channel can never be opened, and refund its buyer.

    `entries` are all entries of the order. Spent money is booked back, then all of it
    is refunded: it repays debts first, and the rest becomes credit.
    """
    known = list(entries)
    work.post(ledger.undone(known))
    work.post(ledger.extensions_undone(order.id, known))
    charged = order.charged + sum(
        each.sats
        for each in known
        if each.key.startswith(ledger.EXTENSION)
        and each.source == ledger.owed(order.organization_id)
    )
    repaid = sum(
        each.sats for each in known if each.target == ledger.owed(order.organization_id)
    )
    back = ledger.release(
        order_id=order.id,
        organization_id=order.organization_id,
        holds=work.holds(order),
        held_htlc=0,  # it was settled or cancelled before the order was filled
        charged=max(0, charged - repaid),
        owes=work.owes(order.organization_id),
        outstanding=work.outstanding(order.organization_id),
        key=f"{OrderEvent.LOST}:{order.id}",
    )
    work.post(back)
    refund = Sats(order.credit_refund + ledger.credit_total(back))
    return work.move(advance(order, OrderEvent.LOST, credit_refund=refund))


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
