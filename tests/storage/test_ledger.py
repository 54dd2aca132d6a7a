import asyncio

import pytest

from leyden.domain import ledger
from leyden.domain.accounts import Organization
from leyden.domain.ledger import Entry, What
from leyden.domain.units import Sats
from leyden.errors import Stale, Violated
from leyden.storage.database import Database
from leyden.storage.statements import Run, Statement
from tests.conftest import NOW

HARBOUR = "harbour"
CREDIT = ledger.credit(HARBOUR)


@pytest.fixture(autouse=True)
async def harbour(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id=HARBOUR, name="Harbour", created=NOW))


def coupon(number: int, sats: int = 21_000) -> Entry:
    return Entry(
        key=f"coupon:{number}",
        what=What.COUPON,
        source=ledger.PROMO,
        target=CREDIT,
        sats=Sats(sats),
        organization_id=HARBOUR,
    )


def spend(sats: int, key: str = "correction:1") -> Entry:
    return Entry(
        key=key,
        what=What.CORRECTION,
        source=CREDIT,
        target=ledger.CORRECTIONS,
        sats=Sats(sats),
        organization_id=HARBOUR,
    )


async def post(db: Database, *entries: Entry) -> None:
    async with db.transaction() as tx:
        await tx.ledger.post(entries, at=NOW)


async def test_an_entry_moves_both_sides(db: Database) -> None:
    await post(db, coupon(1))
    assert await db.reader.ledger.balance(CREDIT) == 21_000
    assert await db.reader.ledger.sums() == {CREDIT: 21_000, ledger.PROMO: -21_000}


async def test_an_entry_is_written_once(db: Database) -> None:
    await post(db, coupon(1))
    with pytest.raises(Violated):
        await post(db, coupon(1))
    assert await db.reader.ledger.balance(CREDIT) == 21_000


async def test_fifty_at_once_write_it_once(db: Database) -> None:
    outcomes = await asyncio.gather(
        *(post(db, coupon(1)) for _ in range(50)), return_exceptions=True
    )
    assert outcomes.count(None) == 1
    assert sum(isinstance(each, Violated) for each in outcomes) == 49
    assert await db.reader.ledger.balance(CREDIT) == 21_000


async def test_entries_that_belong_together_are_written_together(db: Database) -> None:
    await post(db, coupon(2))
    with pytest.raises(Violated):
        await post(db, coupon(1), coupon(2))
    assert await db.reader.ledger.balance(CREDIT) == 21_000
    assert len(await db.reader.ledger.page(HARBOUR, most=10)) == 1


async def test_credit_cannot_be_spent_twice(db: Database) -> None:
    await post(db, coupon(1))
    outcomes = await asyncio.gather(
        *(post(db, spend(15_000, f"correction:{n}")) for n in range(10)),
        return_exceptions=True,
    )
    assert outcomes.count(None) == 1
    assert sum(isinstance(each, Stale) for each in outcomes) == 9
    assert await db.reader.ledger.balance(CREDIT) == 6_000


async def test_what_was_never_there_cannot_be_spent(db: Database) -> None:
    with pytest.raises(Stale):
        await post(db, spend(1))


async def test_a_debt_may_begin_below_zero_and_be_paid(db: Database) -> None:
    owed = ledger.owed(HARBOUR)
    charge = Entry(
        key="charge:1",
        what=What.CHARGED,
        source=owed,
        target=ledger.held("5b0cFO"),
        sats=Sats(700),
        organization_id=HARBOUR,
    )
    await post(db, charge)
    assert await db.reader.ledger.balance(owed) == -700
    with pytest.raises(Stale):
        await post(db, _repayment(owed, 701))
    assert await db.reader.ledger.balance(owed) == -700
    await post(db, _repayment(owed, 700))
    assert await db.reader.ledger.balance(owed) == 0


def _repayment(owed: str, sats: int) -> Entry:
    return Entry(
        key=f"repaid:{sats}",
        what=What.CORRECTION,
        source=ledger.CORRECTIONS,
        target=owed,
        sats=Sats(sats),
        organization_id=HARBOUR,
    )


async def test_the_page_is_newest_first_and_goes_on(db: Database) -> None:
    for number in range(5):
        await post(db, coupon(number))
    newest = await db.reader.ledger.page(HARBOUR, most=2)
    assert [each.entry.key for each in newest] == ["coupon:4", "coupon:3"]
    older = await db.reader.ledger.page(HARBOUR, before=newest[-1].number, most=10)
    assert [each.entry.key for each in older] == ["coupon:2", "coupon:1", "coupon:0"]
    assert older[-1].entry == coupon(0)
    assert older[-1].at == NOW


_INSERT = "INSERT INTO entry (key, at, what, source, target, sats, actor, note) VALUES "


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE entry SET sats = 1",
        "DELETE FROM entry",
        f"{_INSERT} ('2', 0, 'coupon', 'promo', 'credit:harbour', 0, '', '')",
        f"{_INSERT} ('2', 0, 'coupon', 'promo', 'promo', 1, '', '')",
        f"{_INSERT} ('coupon:1', 0, 'coupon', 'promo', 'credit:harbour', 1, '', '')",
        "UPDATE balance SET sats = -1",
    ],
)
async def test_the_database_itself_keeps_the_books(db: Database, sql: str) -> None:

    await post(db, coupon(1))
    with pytest.raises(Violated):
        async with db.transaction() as tx:
            run: Run = tx.ledger._run
            await run(Statement(sqlite=sql, postgresql=sql))


async def test_what_was_never_held_is_not_released(db: Database) -> None:
    release = Entry(
        key="cancelled:5b0cFO",
        what=What.RELEASED,
        source=ledger.held("5b0cFO"),
        target=CREDIT,
        sats=Sats(700),
        organization_id=HARBOUR,
    )
    with pytest.raises(Violated, match="never held"):
        await post(db, release)
    assert await db.reader.ledger.sums() == {}
