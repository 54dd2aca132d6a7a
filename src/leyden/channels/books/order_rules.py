"""Check an order's money, status changes, ticket and cost against the ledger."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from leyden.base.database.stores import Stores
from leyden.channels.books.broken_rules import Broken
from leyden.channels.rows.ledger import Written
from leyden.channels.rules import ledger
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.ledger import Reason
from leyden.channels.rules.orders import ENDED, TICKETED, Order, OrderStatus
from leyden.channels.rules.payments import OutputState
from leyden.channels.rules.pricing import ChannelKind

_SELLERS = {ledger.AUCTION, ledger.SELLER, ledger.PURCHASES}


async def broken_by(
    rows: Stores, order: Order, lease: Lease | None
) -> AsyncIterator[Broken]:
    """Yield the rules that an order breaks: entries, moves, ticket and outputs."""
    entries = await rows.ledger.of_order(order.id)
    for problem in _holding(order, entries):
        yield Broken("I6", f"order {order.id}: {problem}")
    for problem in _cost(order, lease, entries):
        yield Broken("I11", f"order {order.id}: {problem}")
    moves = await rows.moves.of_order(order.id)
    if not _is_walk(order, moves):
        what = f"its recorded status changes do not lead to {order.status}"
        yield Broken("I8", f"order {order.id}: {what}")
    if (order.sealed_ticket is not None) != bool(order.ticket_ref):
        what = "it has a ticket or a ticket reference, but not both"
        yield Broken("I9", f"order {order.id}: {what}")
    is_direct, has_ticket = order.kind is ChannelKind.DIRECT, bool(order.ticket_ref)
    if order.status in TICKETED and has_ticket is is_direct:
        what = "and direct, but has a ticket" if is_direct else "without a ticket"
        yield Broken("I9", f"order {order.id}: it is {order.status} {what}")
    coins = await rows.reserved_coins.of_order(order.id)
    if coins and order.status in ENDED:
        yield Broken("I9", f"order {order.id}: it has ended, but still reserves coins")
    for known in await rows.outputs.of_order(order.id):
        booked = sum(
            (1 if each.entry.source == ledger.RECEIVED else -1) * each.entry.sats
            for each in entries
            if each.entry.key.startswith(f"chain:{known.outpoint}#")
        )
        counts = known.state in {OutputState.BOOKED, OutputState.BURIED}
        if booked != (due := known.sats if counts else 0):
            what = f"{booked:,} sat are booked instead of {due:,}"
            yield Broken("I4", f"output {known.outpoint}: {what}")


def _cost(
    order: Order, lease: Lease | None, entries: Iterable[Written]
) -> Iterator[str]:
    """Yield where the booked cost and refund differ from what the lease cost."""
    if lease is not None:
        booked = sum(
            each.entry.sats for each in entries if each.entry.target in _SELLERS
        )
        if booked != lease.cost:
            yield f"its lease cost {lease.cost:,} sat, but {booked:,} sat are booked"
        undone = sum(
            each.entry.sats
            for each in entries
            if each.entry.source in _SELLERS and each.entry.target != ledger.LSPS
        )
        if undone != (0 if order.status is OrderStatus.FILLED else lease.cost):
            yield f"it is {order.status}, but {undone:,} sat of its lease were reversed"
    if order.status is OrderStatus.FILLED:
        team = order.organization_id
        customer_accounts = {
            ledger.credit(team),
            ledger.owed(team),
            ledger.receivable(team),
        }
        back = sum(
            each.entry.sats
            for each in entries
            if each.entry.what is Reason.RELEASED
            and each.entry.target in customer_accounts
        )
        account = ledger.held(order.id)
        held = back + sum(
            each.entry.sats
            for each in entries
            if each.entry.source == account and each.entry.what in ledger.SPENT
        )
        due = 0
        if lease is not None:
            due = min(order.unused_fee(lease), max(0, held - lease.cost))
        if back != due:
            yield f"its buyer should get {due:,} sat back, but got {back:,}"


def _holding(order: Order, entries: Sequence[Written]) -> list[str]:
    """List what is wrong with the money that an order holds, spent or returned."""
    account = ledger.held(order.id)
    into: Counter[Reason] = Counter()
    out: Counter[Reason] = Counter()
    for each in entries:
        if each.entry.target == account:
            into[each.entry.what] += each.entry.sats
        if each.entry.source == account:
            out[each.entry.what] += each.entry.sats
    holds = into.total() - out.total()
    refund = sum(
        each.entry.sats
        for each in entries
        if each.entry.source == account
        and each.entry.what is Reason.RELEASED
        and each.entry.target == ledger.credit(order.organization_id)
        and not each.entry.key.startswith(ledger.UNUSED_FEE)
    )
    status = order.status
    spent = sum(out[each] - into[each] for each in ledger.SPENT)
    back = out[Reason.RELEASED] if status is OrderStatus.FILLED else 0
    is_direct, handed_back = order.kind is ChannelKind.DIRECT, out[Reason.HANDED_BACK]
    # The HTLC expired while the seller opened the channel, so it was not paid for.
    price = min(order.total_fee, into.total() - handed_back)
    price = price if is_direct and handed_back else order.total_fee
    found = {
        "its used credit does not match the ledger": (
            into[Reason.CREDIT_USED] != order.credit_used
        ),
        "its charge does not match the ledger": into[Reason.CHARGED] != order.charged,
        f"its refund is {order.credit_refund:,} sat, but {refund:,} became credit": (
            refund != order.credit_refund
        ),
        "its money moved at another organization": any(
            owner not in {"", order.id, order.organization_id}
            for each in entries
            for owner in map(ledger.owner, (each.entry.source, each.entry.target))
        ),
        f"it has ended, but still holds {holds:,} sat": status in ENDED and holds,
        f"it is {status}, but holds {holds:,} sat instead of {price:,}": (
            status in TICKETED - ENDED
            and not handed_back
            and (holds < price if is_direct else holds != price)
        ),
        f"its ticket is being created, but it holds only {holds:,} sat": (
            status is OrderStatus.CREATING and holds < order.total_fee
        ),
        f"it is {status}, but {spent:,} sat were spent on it": (
            spent + back != (price if status is OrderStatus.FILLED else 0)
        ),
        "its HTLC is still held, but should be settled": (
            status in (TICKETED & ENDED if is_direct else TICKETED) and order.held_htlc
        ),
    }
    return [problem for problem, is_broken in found.items() if is_broken]


def _is_walk(order: Order, moves: list[tuple[OrderStatus, OrderStatus]]) -> bool:
    legal = {(before, after) for (before, _), after in order.moves.items()}
    at = OrderStatus.WAITING_PAYMENT
    for before, after in moves:
        if before is not at or (before, after) not in legal:
            return False
        at = after
    return at is order.status
