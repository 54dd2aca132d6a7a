import asyncio

import pytest

from leyden.base.database.database import Database
from leyden.base.database.statements import Run, Statement
from leyden.base.rules.accounts import Organization
from leyden.base.rules.units import Sats
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.errors import Stale, Violated
from tests.conftest import NOW
from tests.lock_waits import until_stuck

HARBOUR = "harbour"
CREDIT = ledger.credit(HARBOUR)


@pytest.fixture(autouse=True)
async def organization(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id=HARBOUR, name="Harbour", created=NOW))


def coupon(number: int, sats: int = 21_000) -> Entry:
    return Entry(
        key=f"coupon:{number}",
        what=Reason.COUPON,
        source=ledger.PROMO,
        target=CREDIT,
        sats=Sats(sats),
        organization_id=HARBOUR,
    )


def spend(sats: int, key: str = "correction:1") -> Entry:
    return Entry(
        key=key,
        what=Reason.CORRECTION,
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


async def test_accounts_of_the_operator_are_added_up_without_others(
    db: Database,
) -> None:
    await post(db, coupon(1), coupon(2), spend(1_000))
    assert await db.reader.ledger.sums_of(ledger.OPERATORS) == {
        ledger.PROMO: -42_000,
        ledger.CORRECTIONS: 1_000,
    }


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
    assert len(await db.reader.ledger.customer_page(HARBOUR, limit=10)) == 1


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
        what=Reason.CHARGED,
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
        what=Reason.CORRECTION,
        source=ledger.CORRECTIONS,
        target=owed,
        sats=Sats(sats),
        organization_id=HARBOUR,
    )


async def test_changes_at_once_wait_in_one_order_whether_they_rise_or_fall(
    db: Database,
) -> None:
    """In a cycle PostgreSQL ends one of them, and its caller finds it stale."""
    owed = ledger.owed(HARBOUR)
    await post(db, coupon(1), _moved(owed, ledger.CORRECTIONS, 1_000))
    begun, go = asyncio.Event(), asyncio.Event()

    async def hold_credit() -> None:
        async with db.transaction() as tx:
            await tx.ledger.post([spend(1)], at=NOW)
            begun.set()
            await go.wait()

    holding = asyncio.create_task(hold_credit())
    await begun.wait()
    spends = asyncio.create_task(post(db, spend(2, "2"), _moved(owed, "earned", 3)))
    await until_stuck(db, spends)
    gives_back = asyncio.create_task(
        post(db, _moved("auction", owed, 4), _moved("auction", CREDIT, 5))
    )
    await until_stuck(db, spends, gives_back)
    # Both wait for the credit, which comes first, and keep nobody from the rest.
    more = asyncio.create_task(post(db, _moved(owed, "seller", 1)))
    if not db.is_alone:
        await asyncio.wait_for(more, 5)
    go.set()
    await asyncio.gather(holding, spends, gives_back, more)
    assert await db.reader.ledger.balance(CREDIT) == 21_000 - 1 - 2 + 5
    assert await db.reader.ledger.balance(owed) == -1_000 - 3 + 4 - 1


def _moved(source: str, target: str, sats: int) -> Entry:
    return Entry(
        key=f"{source} to {target}",
        what=Reason.CORRECTION,
        source=source,
        target=target,
        sats=Sats(sats),
        organization_id=HARBOUR,
    )


async def test_the_page_is_newest_first_and_goes_on(db: Database) -> None:
    for number in range(5):
        await post(db, coupon(number))
    found = [await db.reader.ledger.find(f"coupon:{number}") for number in range(5)]
    written = [each for each in reversed(found) if each is not None]
    assert (written[-1].entry, written[-1].at) == (coupon(0), NOW)
    numbers = [each.number for each in written]
    page = db.reader.ledger.customer_page
    newest = await page(HARBOUR, limit=2)
    assert [each.number for each in newest] == numbers[:2]
    older = await page(HARBOUR, before=newest[-1].number, limit=10)
    assert [each.number for each in older] == numbers[2:]


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
            await run(Statement(sql))


async def test_what_was_never_held_is_not_released(db: Database) -> None:
    release = Entry(
        key="cancelled:5b0cFO",
        what=Reason.RELEASED,
        source=ledger.held("5b0cFO"),
        target=CREDIT,
        sats=Sats(700),
        organization_id=HARBOUR,
    )
    with pytest.raises(Violated, match="more than it holds"):
        await post(db, release)
    assert await db.reader.ledger.sums() == {}
