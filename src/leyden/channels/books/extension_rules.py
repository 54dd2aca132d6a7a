"""Check extensions of leases against the ledger, the leases and the treasury."""

from collections import Counter
from collections.abc import AsyncIterator

from leyden.base.database.database import Database
from leyden.base.database.stores import Stores
from leyden.channels.books.broken_rules import Broken
from leyden.channels.direct.rules.extensions import Extension, ExtensionStatus
from leyden.channels.payments.base import Payments
from leyden.channels.rules import ledger
from leyden.channels.rules.payments import Invoice, InvoiceState

_PAGE = 200


async def broken_by(books: Stores) -> AsyncIterator[Broken]:
    """Yield what is wrong with extensions."""
    blocks: Counter[str] = Counter()
    async for extensions in _pages(books):
        for each in extensions:
            is_done = each.status is ExtensionStatus.EXTENDED
            blocks[each.order_id] += each.blocks if is_done else 0
            booked = 0
            for part in ("credit", "charged"):
                found = await books.ledger.find(f"{ledger.EXTENSION}{each.id}:{part}")
                booked += found.entry.sats if found else 0
            if booked != (due := each.total_fee if is_done else 0):
                what = f"{booked:,} sat are booked, not {due:,}"
                yield Broken("I16", f"extension {each.id}: {what}", each.order_id)
    extended = await books.leases.extended()
    for order_id in sorted({*extended, *blocks}):
        if extended.get(order_id, 0) != blocks[order_id]:
            what = (
                f"its lease is {extended.get(order_id, 0):,} blocks longer than "
                f"ordered, but {blocks[order_id]:,} were sold"
            )
            yield Broken("I16", f"order {order_id}: {what}", order_id)


async def broken_by_payments(
    database: Database, payments: Payments
) -> AsyncIterator[Broken]:
    """Yield where the treasury received something else than is booked."""
    async for extensions in _pages(database.reader):
        asked = [each for each in extensions if each.payment_hash]
        updates = await payments.lookup([each.payment_request for each in asked])
        received = {
            each.payment_hash: each.sats
            for each in updates
            if isinstance(each, Invoice) and each.state is InvoiceState.SETTLED
        }
        for each in asked:
            found = await database.reader.ledger.find(f"lightning:{each.payment_hash}")
            booked = found.entry.sats if found else 0
            # Between the treasury and the books there is one step.
            under_way = each.status is ExtensionStatus.SETTLING
            if booked != received.get(each.payment_hash, 0) and not under_way:
                what = (
                    f"the treasury received {received.get(each.payment_hash, 0):,} sat "
                    f"over Lightning, but {booked:,} are booked"
                )
                yield Broken("I5", f"extension {each.id}: {what}", each.order_id)


async def _pages(rows: Stores) -> AsyncIterator[list[Extension]]:
    after = ""
    while page := await rows.extensions.all_(after=after, limit=_PAGE):
        after = page[-1].id
        yield page
