"""Many orders on the desk at once: the first are written while others are decided."""

from functools import partial

import pytest

from leyden.domain import ledger
from leyden.domain.accounts import Organization
from leyden.domain.orders import Order, Status
from leyden.domain.payments import Invoice, InvoiceState
from leyden.domain.pricing import AuctionTerms, Channel, Terms, quote
from leyden.domain.units import Sats
from leyden.errors import Stale
from leyden.services import invoices
from leyden.services.desk import Desk
from leyden.services.shop import TICKET
from leyden.services.verify import verify
from leyden.storage.database import Database
from leyden.storage.tasks import Claim
from tests.conftest import NOW

# More than are decided about before the first of them are written, and not by a whole
# number of times.
MANY = 600
QUOTE = quote(Channel(capacity=Sats(1_000_000)), Terms(), AuctionTerms())


@pytest.fixture
async def many(db: Database) -> list[str]:
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id="harbour", name="harbour", created=NOW))
        made = [an_order(number) for number in range(MANY)]
        for order in made:
            await tx.orders.add(order)
    return [order.id for order in made]


def an_order(number: int) -> Order:
    return Order(
        id=f"00000000-0000-4000-8000-{number:012d}FO",
        organization_id="harbour",
        status=Status.WAITING_PAYMENT,
        created=NOW,
        expires=NOW,
        quote=QUOTE,
        onchain_address=f"bcrt1q{number:038d}",
        lightning_invoice=f"lnbcrt{number:050d}",
        payment_hash=f"{number:064x}",
        invoice=InvoiceState.OPEN,
    )


def pay(desk: Desk, order_id: str) -> None:
    order = desk.order(order_id)
    paid = Invoice(
        payment_hash=order.payment_hash,
        state=InvoiceState.SETTLED,
        sats=Sats(QUOTE.total_fee + 1),
    )
    invoices.seen(desk, order, paid)


async def is_as_it_was(db: Database) -> bool:
    waiting = await db.reader.orders.in_status(Status.WAITING_PAYMENT, most=2 * MANY)
    return (
        len(waiting) == MANY
        and await db.reader.ledger.sums() == {}
        and await db.reader.ledger.kept_balances() == {}
        and await db.reader.tasks.next_due(TICKET, now=NOW) is None
        and await verify(db) == []
    )


async def test_many_are_decided_about_and_all_is_written(
    db: Database, many: list[str]
) -> None:
    """What comes twice meets what it did the first time, written already or not."""
    told = [*many, *many[::7], many[0], many[-1]]
    async with db.transaction() as tx:
        desk = await Desk.laid(tx, many, now=NOW)
        await desk.work(tx, told, lambda order_id: pay(desk, order_id))
    held = Sats(QUOTE.total_fee + 1)
    assert await db.reader.ledger.kept_balances() == {
        ledger.held(order_id): held for order_id in many
    }
    paid = await db.reader.orders.in_status(Status.CREATING, most=2 * MANY)
    assert [order.id for order in paid] == sorted(many)
    assert await verify(db) == []


async def test_nothing_is_written_when_one_of_many_cannot_be_decided(
    db: Database, many: list[str]
) -> None:
    def decide(order_id: str) -> None:
        if order_id == many[-1]:
            raise ValueError("the last one makes no sense")
        pay(desk, order_id)

    with pytest.raises(ValueError, match="no sense"):
        async with db.transaction() as tx:
            desk = await Desk.laid(tx, many, now=NOW)
            await desk.work(tx, many, decide)
    assert await is_as_it_was(db)


async def test_nothing_is_written_when_what_is_to_be_done_also_cannot_be(
    db: Database, many: list[str]
) -> None:
    nobodys = Claim(kind=TICKET, key=many[0], fence=7, asked=0, attempts=1, due=NOW)
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            desk = await Desk.laid(tx, many, now=NOW)
            await desk.work(
                tx,
                many,
                lambda order_id: pay(desk, order_id),
                partial(tx.tasks.end_all, [nobodys]),
            )
    assert await is_as_it_was(db)
