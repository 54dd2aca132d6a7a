"""Filling an order: spend what the channel cost, and return the rest.

Nothing here does I/O.
"""

from collections.abc import Iterable

from leyden.base.rules.units import Sats
from leyden.channels.holding import entry
from leyden.channels.rules import ledger
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import Event, Order, advance
from leyden.channels.unit_of_work import UnitOfWork


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
    work.move(advance(order, Event.MATCHED))


def undo(work: UnitOfWork, order: Order, entries: Iterable[Entry]) -> Order:
    """Fail a filled order whose channel can never be opened, and refund its buyer.

    `entries` are all entries of the order. Spent money is booked back, then all of it
    is refunded: it repays debts first, and the rest becomes credit.
    """
    known = list(entries)
    work.post(ledger.undone(known))
    repaid = sum(
        each.sats for each in known if each.target == ledger.owed(order.organization_id)
    )
    back = ledger.release(
        order_id=order.id,
        organization_id=order.organization_id,
        holds=work.holds(order),
        held_htlc=0,  # it was settled or cancelled before the order was filled
        charged=max(0, order.charged - repaid),
        owes=work.owes(order.organization_id),
        outstanding=work.outstanding(order.organization_id),
        key=f"{Event.LOST}:{order.id}",
    )
    work.post(back)
    refund = Sats(order.credit_refund + ledger.credit_total(back))
    return work.move(advance(order, Event.LOST, credit_refund=refund))


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
