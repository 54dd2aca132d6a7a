"""Payments are heard of as they come, and nothing is lost while nobody can book."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace  # noqa: TID251
from typing import cast

from leyden.domain.orders import Order, Status
from leyden.domain.payments import PaymentUpdate
from leyden.errors import DatabaseAway
from leyden.payments.fake import FakePayments
from leyden.services.channels.payment_stream import listen
from leyden.storage.database import Database
from leyden.storage.secrets import Sealer
from leyden.storage.stores import Stores
from tests.services.till import PRICE, Till, request_of


class Frail:
    """A database that goes away and comes back."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.away = False
        self.reader = database.reader

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Stores]:
        if self.away:
            raise DatabaseAway
        async with self._database.transaction() as tx:
            yield tx


@contextlib.asynccontextmanager
async def listening(till: Till) -> AsyncIterator[None]:
    task = asyncio.create_task(listen(till.shop, pause_s=0.01))
    try:
        await until(lambda: bool(till.payments.listeners))
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


async def until_paid(till: Till, *orders: Order) -> None:
    async with asyncio.timeout(20):
        for order in orders:
            while await till.status(order) is Status.WAITING_PAYMENT:
                await till.work()
                await asyncio.sleep(0.002)


async def test_many_payments_at_once_are_all_heard(till: Till) -> None:
    orders = [await till.create() for _ in range(20)]
    async with listening(till):
        for number, order in enumerate(orders):
            if number % 2:
                till.payments.pay(request_of(order))
            else:
                till.payments.send(order.onchain_address, PRICE)
                till.payments.mine()
                till.payments.reorganise(1)
                till.payments.mine()
        await until_paid(till, *orders)
    till.deafen()


async def test_a_treasury_that_comes_back_is_heard_again(till: Till) -> None:
    first, second = await till.create(), await till.create()
    async with listening(till):
        till.payments.go_away()
        await until(lambda: not till.payments.listeners)
        till.payments.pay(request_of(first))  # nobody hears of it
        till.payments.away = False
        await until(lambda: bool(till.payments.listeners))
        till.payments.pay(request_of(second))
        await until_paid(till, first, second)
    till.deafen()


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
    till = Till(database=sqlite_db, sealer=sealer, payments=Babbling())
    await till.open()
    order = await till.create()
    async with listening(till):
        till.payments.pay(request_of(order))
        await until_paid(till, order)
    till.deafen()


async def test_what_comes_while_the_database_is_away_is_booked_afterwards(
    till: Till,
) -> None:
    """F5."""
    order = await till.create()
    frail = Frail(till.database)
    shaken = replace(till, database=cast("Database", frail))
    shaken.payments = till.payments
    async with listening(shaken):
        frail.away = True
        till.payments.pay(request_of(order))
        await until(lambda: not till.payments.listeners)
        assert await till.status(order) is Status.WAITING_PAYMENT
        frail.away = False
        await until_paid(till, order)
    till.deafen()


async def test_the_first_coins_ever_for_an_order_that_has_ended_are_found(
    till: Till,
) -> None:
    """However many blocks came while the platform was down: no sweep looks there."""
    order = await till.create()
    await till.pass_time(hours=2)
    assert await till.status(order) is Status.EXPIRED
    till.payments.send(order.onchain_address, PRICE)
    till.payments.mine(1_000)
    till.deafen()
    async with listening(till):
        async with asyncio.timeout(10):
            while not await till.credit():
                await asyncio.sleep(0.002)
    till.deafen()
    assert await till.credit() == PRICE
