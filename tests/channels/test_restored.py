"""F10, F32: the database is yesterday's, or the treasury is another one."""

import sqlite3
from pathlib import Path

from leyden.base.database.database import open_database
from leyden.base.database.secrets import Sealer
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import OrderStatus
from tests.channels.orders_harness import HARBOUR, PRICE, OrdersHarness, request_of
from tests.fakes.payments import FakePayments


async def test_what_was_paid_since_the_backup_is_found_again(
    sqlite_url: str, tmp_path: Path, sealer: Sealer
) -> None:
    database = await open_database(sqlite_url)
    harness = OrdersHarness(database=database, sealer=sealer)
    await harness.open()
    lightning, chain = await harness.create(), await harness.create()
    backup = tmp_path / "yesterday.db"
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as now:
        now.execute("VACUUM INTO ?", (str(backup),))
    now.close()
    harness.payments.pay(request_of(lightning))
    harness.payments.send(chain.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    tickets = [await harness.ticket(each) for each in (lightning, chain)]
    await database.close()

    yesterday = await open_database(f"sqlite:///{backup}")
    restored = OrdersHarness(
        database=yesterday,
        sealer=sealer,
        payments=harness.payments,
        market=harness.market,
    )
    assert await restored.status(lightning) is OrderStatus.WAITING_PAYMENT
    await restored.start_sweeping()
    for order in (lightning, chain):
        assert await restored.status(order) is OrderStatus.CREATED
    assert [await restored.ticket(each) for each in (lightning, chain)] == tickets
    assert len(restored.market.tickets()) == 2, "none was made a second time"
    assert await restored.balance_of(ledger.RECEIVED) == -2 * PRICE
    await restored.prove()
    await yesterday.close()


async def test_another_treasury_books_nothing_and_ends_nothing_that_is_paid(
    harness: OrdersHarness,
) -> None:
    """It knows none of our invoices: the log tells that, and nobody guesses from it."""
    paid, waiting = await harness.create(), await harness.create()
    harness.payments.pay(request_of(paid))
    await harness.settle_down()
    ours, harness.payments = harness.payments, FakePayments()
    await harness.start_sweeping()
    assert await harness.status(paid) is OrderStatus.CREATED
    assert await harness.status(waiting) is OrderStatus.WAITING_PAYMENT
    harness.payments = ours
    ours.pay(request_of(waiting))
    await harness.start_sweeping()
    assert await harness.status(waiting) is OrderStatus.CREATED
    assert await harness.balance_of(ledger.RECEIVED) == -2 * PRICE


async def test_another_treasury_takes_no_output_back(harness: OrdersHarness) -> None:
    """What it does not know of is not gone: it knows nothing of the whole order."""
    paid, short = await harness.create(), await harness.create()
    harness.payments.send(paid.onchain_address, PRICE)
    harness.payments.send(short.onchain_address, 5_000)
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(paid) is OrderStatus.CREATED
    ours, harness.payments = harness.payments, FakePayments()
    await harness.start_sweeping()
    await harness.pass_time(minutes=90)  # each order that lapses is looked at once more
    assert await harness.balance_of(ledger.RECEIVED) == -PRICE - 5_000
    assert await harness.balance_of(ledger.receivable(HARBOUR)) == 0
    harness.payments = ours
    await harness.start_sweeping()
    assert await harness.balance_of(ledger.RECEIVED) == -PRICE - 5_000
    assert await harness.credit() == 5_000


async def test_another_treasury_is_no_answer_to_what_is_held(
    harness: OrdersHarness,
) -> None:
    """Neither taken nor handed back is known there: it is asked again, and again."""
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    ours, harness.payments = harness.payments, FakePayments()
    await harness.work()
    assert await harness.status(order) is OrderStatus.CREATING
    harness.market.refuses = "sold out"  # of the other way out nothing is known either
    await harness.pass_time(minutes=5)
    assert await harness.status(order) is OrderStatus.CREATING
    harness.market.refuses = ""
    harness.payments = ours
    await harness.pass_time(minutes=5)
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.balance_of(ledger.RECEIVED) == -PRICE
