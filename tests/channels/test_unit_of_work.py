"""Many orders in one unit of work: all that was decided is written, or nothing."""

from pathlib import Path

import pytest

import leyden
from leyden.base.database.database import Database
from leyden.base.rules.accounts import Organization
from leyden.base.rules.units import Sats
from leyden.base.tasks.rows.tasks import TaskClaim
from leyden.channels.books.verify import verify
from leyden.channels.checkout import decide
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import OrderStatus
from leyden.channels.rules.payments import Invoice, InvoiceState
from leyden.channels.services import TICKET, ChannelSettings
from leyden.channels.unit_of_work import UnitOfWork
from leyden.channels.wiring.channels import SOURCES
from leyden.errors import NotFound, Stale
from tests.channels.stored_order import QUOTE, an_order
from tests.conftest import NOW

MANY = 600  # more than one statement takes


@pytest.fixture
async def many(db: Database) -> list[str]:
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id="harbour", name="harbour", created=NOW))
        made = [an_order(number) for number in range(MANY)]
        for order in made:
            await tx.orders.add(order)
    return [order.id for order in made]


def pay(work: UnitOfWork, order_id: str) -> None:
    paid = Invoice(
        payment_hash=work.order(order_id).payment_hash,
        state=InvoiceState.SETTLED,
        sats=Sats(QUOTE.total_fee + 1),
    )
    decide(work, order_id, paid, ChannelSettings(), SOURCES)


async def is_as_it_was(db: Database) -> bool:
    async with db.transaction() as tx:  # what was not given back is committed by now
        waiting = await tx.orders.in_status(OrderStatus.WAITING_PAYMENT, limit=2 * MANY)
        return (
            len(waiting) == MANY
            and await tx.ledger.sums() == {}
            and await tx.ledger.stored_balances() == {}
            and await tx.tasks.next_due(TICKET, now=NOW) is None
        )


async def test_many_are_decided_about_and_all_is_written(
    db: Database, many: list[str]
) -> None:
    """What comes twice meets what it did the first time."""
    async with db.transaction() as tx:
        work = await UnitOfWork.load(tx, many, now=NOW)
        for order_id in [*many, *many[::7], many[0], many[-1]]:
            pay(work, order_id)
        await work.flush(tx)
    held = Sats(QUOTE.total_fee + 1)
    assert await db.reader.ledger.stored_balances() == {
        ledger.held(order_id): held for order_id in many
    }
    paid = await db.reader.orders.in_status(OrderStatus.CREATING, limit=2 * MANY)
    assert [order.id for order in paid] == sorted(many)
    assert await verify(db) == []


async def test_nothing_is_written_when_one_of_many_cannot_be_decided(
    db: Database, many: list[str]
) -> None:
    with pytest.raises(NotFound):
        async with db.transaction() as tx:
            work = await UnitOfWork.load(tx, many[:-1], now=NOW)
            for order_id in many:
                pay(work, order_id)
            await work.flush(tx)
    assert await is_as_it_was(db)
    assert await verify(db) == []


async def test_nothing_is_written_when_what_is_to_be_done_also_cannot_be(
    db: Database, many: list[str]
) -> None:
    nobodys = TaskClaim(
        kind=TICKET, key=many[0], fence=7, times_queued=0, attempts=1, due=NOW
    )
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            work = await UnitOfWork.load(tx, many, now=NOW)
            for order_id in many:
                pay(work, order_id)
            await work.flush(tx)
            await tx.tasks.end_all([nobodys])
    assert await is_as_it_was(db)
    assert await verify(db) == []


async def test_an_order_is_loaded_as_it_is_once_it_is_locked(
    db: Database, many: list[str]
) -> None:
    async with db.transaction() as tx:
        work = await UnitOfWork.load(tx, many[:1], now=NOW)
        pay(work, many[0])
        await work.flush(tx)
    async with db.transaction() as tx:
        work = await UnitOfWork.load(tx, many[:1], now=NOW)
        order = work.order(many[0])
        assert (order.status, work.holds(order)) == (
            OrderStatus.CREATING,
            QUOTE.total_fee + 1,
        )
        assert work.balance(ledger.credit("harbour")) == 0


def test_one_place_writes_the_ledger_and_saves_orders() -> None:
    """Everybody else decides, and has it written by the unit of work."""
    services = Path(leyden.__file__).parent
    writers = {
        file.relative_to(services).as_posix()
        for file in services.rglob("*.py")
        for text in [file.read_text()]
        if ".ledger.post(" in text or ".orders.save(" in text
    }
    assert writers == {"channels/unit_of_work.py"}
