"""Verification of the books, and of everything else promised.

Every rule about money is checked from the entries up. The rules are named
as in docs/concepts.md. An empty list proves that all rules hold.

    I1  all accounts together add up to zero
    I2  a stored balance is the sum of its entries
    I3  no account is negative that must not be
    I4  a payment is booked once
    I5  what is booked as received is what the treasury received
    I6  an order holds what its state says, and all it held is accounted for
    I7  a coupon was claimed once, and only by the organization it is for
    I8  an order moved along the table of moves
    I9  an order has at most one ticket
    I10 a pending event has a task that will send it, or a paused receiver; so has a
        subscription that is behind the log
    I11 what went to the auction for a channel is what its lease cost, and what it
        left of its share is the buyer's, unless the quote said otherwise
    I12 a node has at most one lnd
    I13 what was acknowledged is on disk
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

from leyden.domain import ledger
from leyden.domain.ledger import Reason
from leyden.domain.orders import ENDED, TICKETED, Order, Status
from leyden.domain.payments import Invoice, InvoiceState, OutputState
from leyden.domain.tickets import Lease
from leyden.payments.base import Payments
from leyden.runtimes.census import lnds
from leyden.services.deliveries.node_mail import WEBHOOKS
from leyden.services.deliveries.subscription_mail import SUBSCRIPTION_MAIL
from leyden.storage.database import Database
from leyden.storage.ledger import Written
from leyden.values import Struct

_BATCH = 200
_SELLERS = {ledger.AUCTION, ledger.SELLER}


class Broken(Struct, frozen=True):
    """A rule that does not hold, and where."""

    rule: str
    where: str

    def __str__(self) -> str:
        """Return the violation as one line."""
        return f"{self.rule}: {self.where}"


async def verify(
    database: Database,
    payments: Payments | None = None,
    *,
    nodes_at: Path | None = None,
) -> list[Broken]:
    """Check every rule, the treasury's books too if given; change nothing.

    `nodes_at` is the folder of this machine's nodes, if it has any.
    """
    broken = [each async for each in _places(database)]
    broken += [each async for each in _coupons(database)]
    broken += [
        Broken("I10", f"node {node_id} has webhooks that nothing will send")
        for node_id in await database.reader.webhooks.without_task(WEBHOOKS)
    ]
    broken += [each async for each in _subscriptions(database)]
    broken += [Broken("I13", doubt) for doubt in await database.durability_risks()]
    if nodes_at is not None:
        broken += [
            Broken("I12", f"node {node_id}: {number} lnds run in its folder")
            for node_id, number in sorted(lnds(nodes_at).items())
            if number > 1
        ]
    if payments is not None:
        broken += [each async for each in _treasurer(database, payments)]
    async for orders in _all_orders(database):
        leases = await database.reader.leases.of_orders([each.id for each in orders])
        for order in orders:
            lease = leases.get(order.id)
            broken += [each async for each in _order(database, order, lease)]
        if payments is not None:
            broken += [each async for each in _treasury(database, payments, orders)]
    return broken


async def _places(database: Database) -> AsyncIterator[Broken]:
    reader = database.reader.ledger
    sums = await reader.sums()
    if total := sum(sums.values()):
        yield Broken("I1", f"all entries together come to {total} sat")
    kept = await reader.kept_balances()
    for place in sorted({*kept, *filter(_is_kept, sums)}):
        if kept.get(place, 0) != sums.get(place, 0):
            yield Broken(
                "I2",
                f"{place} is kept as {kept.get(place, 0)} sat, "
                f"its entries come to {sums.get(place, 0)}",
            )
    for place, sats in sorted(sums.items()):
        if sats < 0 and not ledger.may_go_below_zero(place):
            yield Broken("I3", f"{place} is at {sats} sat")


def _is_kept(place: str) -> bool:
    return ":" in place


async def _subscriptions(database: Database) -> AsyncIterator[Broken]:
    """Find subscriptions that are behind without a task.

    An event that came between two looks has its task, so it is looked for again.
    """
    reader = database.reader
    behind = [
        each
        for each in await reader.subscriptions.without_task()
        if (await SUBSCRIPTION_MAIL.next(reader, each, now=each.due))[0] is not None
    ]
    if behind:
        still = {
            (each.id, each.position)
            for each in await reader.subscriptions.without_task()
        }
        for each in behind:
            if (each.id, each.position) in still:
                what = f"subscription {each.id} has events that nothing will send"
                yield Broken("I10", what)


async def _coupons(database: Database) -> AsyncIterator[Broken]:
    paid_out = await database.reader.ledger.sums()
    claimed = 0
    after = ""
    while batch := await database.reader.coupons.all_(after=after, most=_BATCH):
        after = batch[-1].id
        for coupon in batch:
            if not coupon.claimed:
                continue
            claimed += coupon.sats
            claimant = coupon.claimed_by or ""
            credit = ledger.credit(claimant)
            given = 0
            for key in ledger.parts(f"coupon:{coupon.id}"):
                entry = await database.reader.ledger.find(key)
                if entry and entry.entry.target in {
                    credit,
                    ledger.receivable(claimant),
                }:
                    given += entry.entry.sats
            if given != coupon.sats:
                yield Broken("I7", f"a claimed coupon is not in the books ({credit})")
    if -paid_out.get(ledger.PROMO, 0) != claimed:
        yield Broken(
            "I7",
            f"coupons gave {-paid_out.get(ledger.PROMO, 0)} sat, "
            f"the claimed ones are worth {claimed}",
        )


async def _all_orders(database: Database) -> AsyncIterator[list[Order]]:
    after = ""
    while batch := await database.reader.orders.all_(after=after, most=_BATCH):
        after = batch[-1].id
        yield batch


async def _order(
    database: Database, order: Order, lease: Lease | None
) -> AsyncIterator[Broken]:
    entries = await database.reader.ledger.of_order(order.id)
    for problem in _holding(order, entries):
        yield Broken("I6", f"order {order.id}: {problem}")
    for problem in _cost(order, lease, entries):
        yield Broken("I11", f"order {order.id}: {problem}")
    moves = await database.reader.moves.of_order(order.id)
    if not _is_walk(order, moves):
        yield Broken("I8", f"order {order.id} is {order.status} by no legal way")
    if (order.sealed_ticket is not None) != bool(order.ticket_ref):
        yield Broken("I9", f"order {order.id} has half a ticket")
    is_direct, has_ticket = order.destination is not None, bool(order.ticket_ref)
    if order.status in TICKETED and has_ticket is is_direct:
        yield Broken("I9", f"order {order.id} is {order.status} without its ticket")
    coins = await database.reader.reserved_coins.of_order(order.id)
    if coins and order.status in ENDED:
        yield Broken("I9", f"order {order.id} has ended and reserves coins")
    for known in await database.reader.outputs.of_order(order.id):
        booked = sum(
            (1 if each.entry.source == ledger.RECEIVED else -1) * each.entry.sats
            for each in entries
            if each.entry.key.startswith(f"chain:{known.outpoint}#")
        )
        counts = known.state in {OutputState.BOOKED, OutputState.BURIED}
        if booked != (known.sats if counts else 0):
            yield Broken("I4", f"output {known.outpoint} is booked as {booked} sat")


def _cost(
    order: Order, lease: Lease | None, entries: Iterable[Written]
) -> Iterator[str]:
    """Compare what was booked with what the auction took and left, by lease."""
    if lease is not None:
        booked = sum(
            each.entry.sats for each in entries if each.entry.target in _SELLERS
        )
        if booked != lease.cost:
            yield f"its lease cost {lease.cost} sat, {booked} went to the auction"
        undone = sum(
            each.entry.sats for each in entries if each.entry.source in _SELLERS
        )
        if undone != (0 if order.status is Status.FILLED else lease.cost):
            yield f"it is {order.status}, and {undone} sat of its lease were undone"
    if order.status is Status.FILLED:
        team = order.organization_id
        theirs = {ledger.credit(team), ledger.owed(team), ledger.receivable(team)}
        back = sum(
            each.entry.sats
            for each in entries
            if each.entry.what is Reason.RELEASED and each.entry.target in theirs
        )
        place = ledger.held(order.id)
        held = back + sum(
            each.entry.sats
            for each in entries
            if each.entry.source == place and each.entry.what in ledger.SPENT
        )
        due = 0
        if lease is not None:
            due = min(order.unused_fee(lease), max(0, held - lease.cost))
        if back != due:
            yield f"{due} sat are to come back to its buyer, {back} did"


def _holding(order: Order, entries: Iterable[Written]) -> list[str]:
    """Return what is wrong with an order's held money and where it went."""
    place = ledger.held(order.id)
    into: Counter[Reason] = Counter()
    out: Counter[Reason] = Counter()
    for each in entries:
        if each.entry.target == place:
            into[each.entry.what] += each.entry.sats
        if each.entry.source == place:
            out[each.entry.what] += each.entry.sats
    holds = into.total() - out.total()
    status = order.status
    spent = sum(out[each] - into[each] for each in ledger.SPENT)
    back = out[Reason.RELEASED] if status is Status.FILLED else 0
    is_direct, handed_back = order.destination is not None, out[Reason.HANDED_BACK]
    # A lock that ended while the seller opened the channel: it was given away.
    price = min(order.total_fee, into.total() - handed_back)
    price = price if is_direct and handed_back else order.total_fee
    found = {
        "its credit is not in the books": into[Reason.CREDIT_USED] != order.credit_used,
        "its charge is not in the books": into[Reason.CHARGED] != order.charged,
        f"it has ended and holds {holds} sat": status in ENDED and holds,
        f"it is {status} and holds {holds} sat": (
            status in TICKETED - ENDED
            and not handed_back
            and (holds < price if is_direct else holds != price)
        ),
        f"it is being created with {holds} sat": (
            status is Status.CREATING and holds < order.total_fee
        ),
        f"{spent} sat of it were spent": (
            spent + back != (price if status is Status.FILLED else 0)
        ),
        "its HTLC is held and not settled": (
            status in (TICKETED & ENDED if is_direct else TICKETED) and order.held_htlc
        ),
    }
    return [problem for problem, there in found.items() if there]


def _is_walk(order: Order, moves: list[tuple[Status, Status]]) -> bool:
    legal = {(before, after) for (before, _), after in order.moves.items()}
    at = Status.WAITING_PAYMENT
    for before, after in moves:
        if before is not at or (before, after) not in legal:
            return False
        at = after
    return at is order.status


async def _treasurer(database: Database, payments: Payments) -> AsyncIterator[Broken]:
    known = await database.reader.treasury.find()
    found = await payments.identity()
    if known is not None and found != known.pubkey:
        yield Broken("I5", f"the treasury is {found}, and {known.pubkey} took payments")


async def _treasury(
    database: Database, payments: Payments, orders: list[Order]
) -> AsyncIterator[Broken]:
    requests = {
        order.payment_hash: (order, request)
        for order in orders
        if (request := order.payment_request)
    }
    told = await payments.lookup([request for _, request in requests.values()])
    outputs = {}
    for seen in told:
        if not isinstance(seen, Invoice):
            outputs[seen.outpoint] = seen
            continue
        order, _ = requests[seen.payment_hash]
        booked = sum(
            each.entry.sats
            for each in await database.reader.ledger.of_order(order.id)
            if each.entry.source == ledger.RECEIVED
            and each.entry.key.startswith(f"lightning:{seen.payment_hash}")
        )
        received = seen.sats if seen.state is InvoiceState.SETTLED else 0
        if booked != received:
            yield Broken(
                "I5",
                f"order {order.id}: {received} sat came over Lightning, "
                f"{booked} are booked",
            )
    for order, _ in requests.values():
        for known in await database.reader.outputs.of_order(order.id):
            counts = known.state in {OutputState.BOOKED, OutputState.BURIED}
            there = outputs.pop(known.outpoint, None)
            mined = there is not None and there.confirmations > 0
            if counts and not mined:
                yield Broken("I5", f"output {known.outpoint} is booked and not there")
            if there is not None and there.sats != known.sats:
                yield Broken("I5", f"output {known.outpoint} has another sum")
    for outpoint in outputs:
        yield Broken("I5", f"output {outpoint} was never seen")
