"""The time of an order is up, and what was paid into it is found first."""

import asyncio
from datetime import datetime, timedelta

import pytest

from leyden.domain.orders import Order, Status
from leyden.domain.payments import InvoiceState
from leyden.loops import shop_queues
from leyden.payments.fake import PaymentFailed
from leyden.services.channels.shop import CLOSING, EXPIRY
from leyden.storage.database import Database
from leyden.storage.secrets import Sealer
from leyden.storage.statements import Statement
from leyden.tasks import Worker
from leyden.values import replace
from tests.services.till import LIGHTHOUSE, PRICE, Till, request_of


async def test_an_unpaid_order_expires_and_gives_its_credit_back(till: Till) -> None:
    await till.give_credit(5_000)
    order = await till.create()
    assert (order.credit_used, order.amount_due) == (5_000, PRICE - 5_000)
    assert await till.credit() == 0
    await till.pass_time(minutes=59)
    assert await till.status(order) is Status.WAITING_PAYMENT
    await till.pass_time(minutes=2)
    assert await till.status(order) is Status.EXPIRED
    assert await till.credit() == 5_000
    with pytest.raises(PaymentFailed):
        till.payments.pay(request_of(order))


async def test_a_payment_that_was_missed_is_found_before_the_order_expires(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    till.deafen()
    await till.pass_time(minutes=90)
    assert await till.status(order) is Status.CREATED


async def test_the_first_payment_ever_while_nobody_listens_is_found(
    till: Till,
) -> None:
    """F9: the treasury does not tell it again; looking for it is what helps."""
    lightning, chain = await till.create(), await till.create()
    till.payments.pay(request_of(lightning))
    till.payments.send(chain.onchain_address, PRICE)
    till.payments.mine()
    till.deafen()
    await till.start_sweeping()
    assert await till.status(lightning) is Status.CREATED
    assert await till.status(chain) is Status.CREATED


async def test_a_payment_that_was_replaced_by_nothing_lets_the_order_expire(
    till: Till,
) -> None:
    order = await till.create()
    first = till.payments.send(order.onchain_address, PRICE)
    await till.settle_down()
    till.payments.replace(first, sats=1)  # all but one sat went elsewhere
    await till.pass_time(minutes=61)
    assert await till.status(order) is Status.EXPIRED


async def at(till: Till, when: datetime, *orders: Order) -> None:
    """Look whether these have expired, at that time."""
    till.now = when
    async with till.database.transaction() as tx:
        await tx.tasks.put_many(EXPIRY, [each.id for each in orders], due=when)
    await till.work(EXPIRY)


async def test_an_order_expires_at_its_deadline_and_not_before(till: Till) -> None:
    order = await till.create()
    due = till.database.reader.tasks.next_due
    assert await due(EXPIRY, now=till.now) == order.expires
    await at(till, order.expires - timedelta(microseconds=1), order)
    assert await till.status(order) is Status.WAITING_PAYMENT
    assert await due(EXPIRY, now=till.now) == order.expires
    await at(till, order.expires)
    assert await till.status(order) is Status.EXPIRED
    assert await due(EXPIRY, now=till.now) is None


async def test_a_payment_is_looked_for_at_the_deadline_itself(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    till.deafen()
    await at(till, order.expires)
    assert await till.status(order) is Status.CREATING


async def test_coins_that_never_confirm_are_waited_for_so_long(till: Till) -> None:
    order, short = await till.create(), await till.create()
    till.payments.send(order.onchain_address, PRICE)
    till.payments.send(short.onchain_address, PRICE - 1)
    await till.hear()
    await at(till, order.expires)
    assert await till.status(short) is Status.EXPIRED
    assert await till.status(order) is Status.WAITING_PAYMENT
    again = await till.database.reader.tasks.next_due(EXPIRY, now=till.now)
    assert again == till.now + till.rules.sweep_every
    last = order.expires + till.rules.detected_waits
    await at(till, last - timedelta(microseconds=1), order)
    assert await till.status(order) is Status.WAITING_PAYMENT
    await at(till, last, order)
    assert await till.status(order) is Status.EXPIRED


async def test_an_invoice_is_booked_as_closed_by_whoever_closed_it(till: Till) -> None:
    """Also where nobody listens to what the treasury tells of it."""
    order = await till.create()
    await at(till, order.expires)
    await till.work(CLOSING)
    till.deafen()
    assert (await till.get(order)).invoice is InvoiceState.CANCELLED


async def test_there_is_no_invoice_to_close_of_what_credit_paid_for(till: Till) -> None:
    await till.give_credit(PRICE)
    order = await till.create()
    async with till.database.transaction() as tx:
        await tx.tasks.put(CLOSING, order.id, due=till.now)
    till.payments.away = True
    await till.work(CLOSING)
    assert await till.database.reader.tasks.next_due(CLOSING, now=till.now) is None
    till.payments.away = False


async def test_the_clock_may_jump(till: Till) -> None:
    """F26: ahead ends no paid order, back revives no ended one."""
    paid, unpaid = await till.create(), await till.create()
    till.payments.pay(request_of(paid))
    await till.settle_down()
    await till.pass_time(days=3)
    assert await till.status(paid) is Status.CREATED
    assert await till.status(unpaid) is Status.EXPIRED
    till.now -= timedelta(days=3, hours=1)
    await till.settle_down()
    assert await till.status(unpaid) is Status.EXPIRED
    assert await till.status(paid) is Status.CREATED


async def test_while_the_treasury_is_away_nothing_is_guessed(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    till.deafen()
    till.payments.away = True
    await till.pass_time(minutes=90)
    assert await till.status(order) is Status.WAITING_PAYMENT
    till.payments.away = False
    await till.pass_time(minutes=2)
    assert await till.status(order) is Status.CREATED


async def count(database: Database, sql: str) -> int:
    rows = await database.reader.orders._run(Statement(sql))
    return int(rows[0][0])


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "how_many", [500, pytest.param(10_000, marks=pytest.mark.long)]
)
async def test_thousands_that_expire_at_once_hold_up_nobody(
    sqlite_db: Database, sealer: Sealer, how_many: int
) -> None:
    """F33: they are ended a few at a time, and whoever orders waits for a few of them.

    Told in orders that end meanwhile, so that it holds on a machine of any speed.
    """
    till = Till(database=sqlite_db, sealer=sealer)
    await till.open()
    first = await till.create()
    ids = [f"5b0c3d1e-7a44-4c39-9a0e-{number:012d}FO" for number in range(how_many)]
    async with till.database.transaction() as tx:
        for id_ in ids:
            request = await till.payments.request(
                id_, first.to_be_paid, lives=timedelta(hours=1)
            )
            await tx.orders.add(
                replace(
                    first,
                    id=id_,
                    onchain_address=request.onchain_address,
                    lightning_invoice=request.lightning_invoice,
                    payment_hash=request.payment_hash,
                    invoice=InvoiceState.OPEN,
                )
            )
        await tx.tasks.put_many(EXPIRY, ids, due=first.expires)
    till.now = first.expires
    expired = "SELECT count(*) FROM channel_order WHERE status = 'expired'"
    leased = f"SELECT count(*) FROM task WHERE kind = '{EXPIRY}' AND lease > 0"  # noqa: S608
    worker = Worker(till.database, shop_queues(till.shop), clock=lambda: till.now)
    working = asyncio.create_task(worker.run())
    waited: list[int] = []
    async with asyncio.timeout(500):
        while (before := await count(till.database, expired)) <= how_many:
            await till.create(who=LIGHTHOUSE)
            assert await count(till.database, leased) <= 16
            if before > 0 and (after := await count(till.database, expired)) < how_many:
                waited.append(after - before)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert len(waited) > 3, "some orders came in between"
    assert max(waited) <= 100
    await till.prove()
