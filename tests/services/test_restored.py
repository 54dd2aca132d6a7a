"""F10, F32: the database is yesterday's, or the treasury is another one."""

import sqlite3
from pathlib import Path

from leyden.domain import ledger
from leyden.domain.orders import Status
from leyden.payments.fake import FakePayments
from leyden.storage.database import open_database
from leyden.storage.secrets import Sealer
from tests.services.till import HARBOUR, PRICE, Till, request_of


async def test_what_was_paid_since_the_backup_is_found_again(
    sqlite_url: str, tmp_path: Path, sealer: Sealer
) -> None:
    database = await open_database(sqlite_url)
    till = Till(database=database, sealer=sealer)
    await till.open()
    lightning, chain = await till.create(), await till.create()
    backup = tmp_path / "yesterday.db"
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as now:
        now.execute("VACUUM INTO ?", (str(backup),))
    now.close()
    till.payments.pay(request_of(lightning))
    till.payments.send(chain.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    tickets = [await till.ticket(each) for each in (lightning, chain)]
    await database.close()

    yesterday = await open_database(f"sqlite:///{backup}")
    restored = Till(
        database=yesterday, sealer=sealer, payments=till.payments, market=till.market
    )
    assert await restored.status(lightning) is Status.WAITING_PAYMENT
    await restored.start_sweeping()
    for order in (lightning, chain):
        assert await restored.status(order) is Status.CREATED
    assert [await restored.ticket(each) for each in (lightning, chain)] == tickets
    assert len(restored.market.tickets()) == 2, "none was made a second time"
    assert await restored.place(ledger.RECEIVED) == -2 * PRICE
    await restored.prove()
    await yesterday.close()


async def test_another_treasury_books_nothing_and_ends_nothing_that_is_paid(
    till: Till,
) -> None:
    """It knows none of our invoices: the log tells that, and nobody guesses from it."""
    paid, waiting = await till.create(), await till.create()
    till.payments.pay(request_of(paid))
    await till.settle_down()
    ours, till.payments = till.payments, FakePayments()
    await till.start_sweeping()
    assert await till.status(paid) is Status.CREATED
    assert await till.status(waiting) is Status.WAITING_PAYMENT
    till.payments = ours
    ours.pay(request_of(waiting))
    await till.start_sweeping()
    assert await till.status(waiting) is Status.CREATED
    assert await till.place(ledger.RECEIVED) == -2 * PRICE


async def test_another_treasury_takes_no_output_back(till: Till) -> None:
    """What it does not know of is not gone: it knows nothing of the whole order."""
    paid, short = await till.create(), await till.create()
    till.payments.send(paid.onchain_address, PRICE)
    till.payments.send(short.onchain_address, 5_000)
    till.payments.mine()
    await till.settle_down()
    assert await till.status(paid) is Status.CREATED
    ours, till.payments = till.payments, FakePayments()
    await till.start_sweeping()
    await till.pass_time(minutes=90)  # each order that lapses is looked at once more
    assert await till.place(ledger.RECEIVED) == -PRICE - 5_000
    assert await till.place(ledger.receivable(HARBOUR)) == 0
    till.payments = ours
    await till.start_sweeping()
    assert await till.place(ledger.RECEIVED) == -PRICE - 5_000
    assert await till.credit() == 5_000


async def test_another_treasury_is_no_answer_to_what_is_held(till: Till) -> None:
    """Neither taken nor handed back is known there: it is asked again, and again."""
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    ours, till.payments = till.payments, FakePayments()
    await till.work()
    assert await till.status(order) is Status.CREATING
    till.market.refuses = "sold out"  # of the other way out nothing is known either
    await till.pass_time(minutes=5)
    assert await till.status(order) is Status.CREATING
    till.market.refuses = ""
    till.payments = ours
    await till.pass_time(minutes=5)
    assert await till.status(order) is Status.CREATED
    assert await till.place(ledger.RECEIVED) == -PRICE
