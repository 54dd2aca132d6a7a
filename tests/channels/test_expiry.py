"""The time of an order is up, and what was paid into it is found first."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

import pytest

from leyden.app.loops import channel_queues
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.database.statements import Statement
from leyden.base.rules.units import Sats
from leyden.base.tasks.worker import Worker
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import (
    Confirmations,
    InvoiceState,
    PaymentRequest,
    PaymentUpdate,
)
from leyden.channels.services import CLOSING, EXPIRY
from leyden.values import replace
from tests.channels.orders_harness import LIGHTHOUSE, PRICE, OrdersHarness, request_of
from tests.fakes.payments import FakePayments, PaymentFailed


async def test_an_unpaid_order_expires_and_gives_its_credit_back(
    harness: OrdersHarness,
) -> None:
    await harness.give_credit(5_000)
    order = await harness.create()
    assert (order.credit_used, order.amount_due) == (5_000, PRICE - 5_000)
    assert await harness.credit() == 0
    await harness.pass_time(minutes=59)
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    await harness.pass_time(minutes=2)
    assert await harness.status(order) is OrderStatus.EXPIRED
    assert await harness.credit() == 5_000
    with pytest.raises(PaymentFailed):
        harness.payments.pay(request_of(order))


async def test_a_payment_that_was_missed_is_found_before_the_order_expires(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    harness.deafen()
    await harness.pass_time(minutes=90)
    assert await harness.status(order) is OrderStatus.CREATED


async def test_the_first_payment_ever_while_nobody_listens_is_found(
    harness: OrdersHarness,
) -> None:
    """F9: the treasury does not tell it again; looking for it is what helps."""
    lightning, chain = await harness.create(), await harness.create()
    harness.payments.pay(request_of(lightning))
    harness.payments.send(chain.onchain_address, PRICE)
    harness.payments.mine()
    harness.deafen()
    await harness.start_sweeping()
    assert await harness.status(lightning) is OrderStatus.CREATED
    assert await harness.status(chain) is OrderStatus.CREATED


async def test_a_payment_that_was_replaced_by_nothing_lets_the_order_expire(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    first = harness.payments.send(order.onchain_address, PRICE)
    await harness.settle_down()
    harness.payments.replace(first, sats=1)  # all but one sat went elsewhere
    await harness.pass_time(minutes=61)
    assert await harness.status(order) is OrderStatus.EXPIRED


async def at(harness: OrdersHarness, when: datetime, *orders: Order) -> None:
    """Look whether these have expired, at that time."""
    harness.now = when
    async with harness.database.transaction() as tx:
        await tx.tasks.put_many(EXPIRY, [each.id for each in orders], due=when)
    await harness.work(EXPIRY)


async def test_an_order_expires_at_its_deadline_and_not_before(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    due = harness.database.reader.tasks.next_due
    assert await due(EXPIRY, now=harness.now) == order.expires
    await at(harness, order.expires - timedelta(microseconds=1), order)
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    assert await due(EXPIRY, now=harness.now) == order.expires
    await at(harness, order.expires)
    assert await harness.status(order) is OrderStatus.EXPIRED
    assert await due(EXPIRY, now=harness.now) is None


async def test_a_payment_is_looked_for_at_the_deadline_itself(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    harness.deafen()
    await at(harness, order.expires)
    assert await harness.status(order) is OrderStatus.CREATING


class Overtaken(FakePayments):
    """A treasury that is paid, and heard, while an answer of it is on its way."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def lookup(self, requests: Sequence[PaymentRequest]) -> list[PaymentUpdate]:
        answer = await super().lookup(requests)
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        return answer


async def test_coins_that_are_booked_while_they_are_looked_for_are_not_gone(
    db: Database, sealer: Sealer
) -> None:
    """An answer from before them says nothing of them."""
    payments = Overtaken()
    harness = OrdersHarness(database=db, sealer=sealer, payments=payments)
    await harness.open()
    order = await harness.create()

    async def pay() -> None:
        payments.send(order.onchain_address, PRICE)
        payments.mine()
        await harness.hear()
        assert await harness.status(order) is OrderStatus.CREATING

    payments.meanwhile = pay
    await at(harness, order.expires)
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    await harness.prove()


async def test_coins_with_too_few_confirmations_are_waited_for_so_long(
    harness: OrdersHarness,
) -> None:
    made = [await harness.create() for _ in range(3)]
    order, short, unconfirmed = made
    harness.rules = replace(
        harness.rules, confirmations=Confirmations(((Sats(0), 1_000),))
    )
    harness.payments.send(order.onchain_address, PRICE)
    harness.payments.send(short.onchain_address, PRICE - 1)
    harness.payments.mine()
    harness.payments.send(short.onchain_address, 1)
    harness.payments.send(unconfirmed.onchain_address, PRICE)
    await harness.hear()
    await at(harness, order.expires)
    assert await harness.status(short) is OrderStatus.EXPIRED
    assert await harness.status(unconfirmed) is OrderStatus.EXPIRED
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    again = await harness.database.reader.tasks.next_due(EXPIRY, now=harness.now)
    assert again == harness.now + harness.rules.sweep_every
    last = order.expires + harness.rules.confirming_waits
    await at(harness, last - timedelta(microseconds=1), order)
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    await at(harness, last, order)
    assert await harness.status(order) is OrderStatus.EXPIRED


async def test_an_invoice_is_booked_as_closed_by_whoever_closed_it(
    harness: OrdersHarness,
) -> None:
    """Also where nobody listens to what the treasury tells of it."""
    order = await harness.create()
    await at(harness, order.expires)
    await harness.work(CLOSING)
    harness.deafen()
    assert (await harness.get(order)).invoice is InvoiceState.CANCELLED


async def test_there_is_no_invoice_to_close_of_what_credit_paid_for(
    harness: OrdersHarness,
) -> None:
    await harness.give_credit(PRICE)
    order = await harness.create()
    async with harness.database.transaction() as tx:
        await tx.tasks.put(CLOSING, order.id, due=harness.now)
    harness.payments.away = True
    await harness.work(CLOSING)
    assert (
        await harness.database.reader.tasks.next_due(CLOSING, now=harness.now) is None
    )
    harness.payments.away = False


async def test_the_clock_may_jump(harness: OrdersHarness) -> None:
    """F26: ahead ends no paid order, back revives no ended one."""
    paid, unpaid = await harness.create(), await harness.create()
    harness.payments.pay(request_of(paid))
    await harness.settle_down()
    await harness.pass_time(days=3)
    assert await harness.status(paid) is OrderStatus.CREATED
    assert await harness.status(unpaid) is OrderStatus.EXPIRED
    harness.now -= timedelta(days=3, hours=1)
    await harness.settle_down()
    assert await harness.status(unpaid) is OrderStatus.EXPIRED
    assert await harness.status(paid) is OrderStatus.CREATED


async def test_while_the_treasury_is_away_nothing_is_guessed(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    harness.deafen()
    harness.payments.away = True
    await harness.pass_time(minutes=90)
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    harness.payments.away = False
    await harness.pass_time(minutes=2)
    assert await harness.status(order) is OrderStatus.CREATED


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
    harness = OrdersHarness(database=sqlite_db, sealer=sealer)
    await harness.open()
    first = await harness.create()
    ids = [f"5b0c3d1e-7a44-4c39-9a0e-{number:012d}FO" for number in range(how_many)]
    async with harness.database.transaction() as tx:
        for id_ in ids:
            request = await harness.payments.request(
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
    harness.now = first.expires
    expired = "SELECT count(*) FROM channel_order WHERE status = 'expired'"
    leased = f"SELECT count(*) FROM task WHERE kind = '{EXPIRY}' AND lease > 0"  # noqa: S608
    worker = Worker(
        harness.database, channel_queues(harness.channels), clock=lambda: harness.now
    )
    working = asyncio.create_task(worker.run())
    waited: list[int] = []
    async with asyncio.timeout(500):
        while (before := await count(harness.database, expired)) <= how_many:
            await harness.create(who=LIGHTHOUSE)
            assert await count(harness.database, leased) <= 16
            if (
                before > 0
                and (after := await count(harness.database, expired)) < how_many
            ):
                waited.append(after - before)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert len(waited) > 3, "some orders came in between"
    assert max(waited) <= 100
    await harness.prove()
