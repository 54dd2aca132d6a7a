"""Payments are heard of as they come, and nothing is lost while nobody can book."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace  # noqa: TID251
from typing import cast

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.channels.checkout import listen
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import PaymentUpdate
from leyden.errors import DatabaseAway
from tests.away import FailingDatabase
from tests.channels.orders_harness import PRICE, OrdersHarness, request_of
from tests.fakes.payments import FakePayments
from tests.waiting import until


@contextlib.asynccontextmanager
async def listening(harness: OrdersHarness) -> AsyncIterator[None]:
    task = asyncio.create_task(listen(harness.channels, pause_s=0.01))
    try:
        await until(lambda: bool(harness.payments.listeners))
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until_paid(harness: OrdersHarness, *orders: Order) -> None:
    async with asyncio.timeout(20):
        for order in orders:
            while await harness.status(order) is OrderStatus.WAITING_PAYMENT:
                await harness.work()
                await asyncio.sleep(0.002)


async def test_many_payments_at_once_are_all_heard(harness: OrdersHarness) -> None:
    orders = [await harness.create() for _ in range(20)]
    async with listening(harness):
        for number, order in enumerate(orders):
            if number % 2:
                harness.payments.pay(request_of(order))
            else:
                harness.payments.send(order.onchain_address, PRICE)
                harness.payments.mine()
                harness.payments.reorganise(1)
                harness.payments.mine()
        await until_paid(harness, *orders)
    harness.deafen()


async def test_a_treasury_that_comes_back_is_heard_again(
    harness: OrdersHarness,
) -> None:
    first, second = await harness.create(), await harness.create()
    async with listening(harness):
        harness.payments.go_away()
        await until(lambda: not harness.payments.listeners)
        harness.payments.pay(request_of(first))  # nobody hears of it
        harness.payments.away = False
        await until(lambda: bool(harness.payments.listeners))
        harness.payments.pay(request_of(second))
        await until_paid(harness, first, second)
    harness.deafen()


class Babbling(FakePayments):
    """A treasury that says what no treasury says, each other time it is heard."""

    def __init__(self) -> None:
        super().__init__()
        self.babbled = 0

    async def watch(self) -> AsyncGenerator[PaymentUpdate, None]:
        self.babbled += 1
        if self.babbled % 2:
            raise KeyError("state")
        async for update in super().watch():
            yield update


async def test_a_treasury_that_babbles_is_listened_to_again(
    sqlite_db: Database, sealer: Sealer
) -> None:
    harness = OrdersHarness(database=sqlite_db, sealer=sealer, payments=Babbling())
    await harness.open()
    order = await harness.create()
    async with listening(harness):
        harness.payments.pay(request_of(order))
        await until_paid(harness, order)
    harness.deafen()


async def test_what_comes_while_the_database_is_away_is_booked_afterwards(
    harness: OrdersHarness,
) -> None:
    """F5."""
    order = await harness.create()
    frail = FailingDatabase(harness.database)
    shaken = replace(harness, database=cast("Database", frail))
    shaken.payments = harness.payments
    async with listening(shaken):
        frail.error = DatabaseAway()
        harness.payments.pay(request_of(order))
        await until(lambda: not harness.payments.listeners)
        assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
        frail.error = None
        await until_paid(harness, order)
    harness.deafen()


async def test_the_first_coins_ever_for_an_order_that_has_ended_are_found(
    harness: OrdersHarness,
) -> None:
    """However many blocks came while the platform was down: no sweep looks there."""
    order = await harness.create()
    await harness.pass_time(hours=2)
    assert await harness.status(order) is OrderStatus.EXPIRED
    harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine(1_000)
    harness.deafen()
    async with listening(harness):
        await until(harness.credit)
    harness.deafen()
    assert await harness.credit() == PRICE
