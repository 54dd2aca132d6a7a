"""The program dies at every durable step of every story, and nothing is the worse.

Afterwards it starts again as it always does: leases run out, open payments are looked
for, and the customer, who had no answer, asks for the same once more. The end is the
one that an uninterrupted story has.
"""

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace  # noqa: TID251
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from leyden.base.database.database import open_database
from leyden.base.database.secrets import Sealer
from leyden.channels.direct import extensions
from leyden.channels.direct.rules.extensions import ExtensionStatus
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, OrderStatus
from tests.channels.failing_database import FailingDatabase, Fuse, failing
from tests.channels.orders_harness import (
    CHANNEL,
    HARBOUR,
    PRICE,
    Crashed,
    OrdersHarness,
    request_of,
)
from tests.channels.test_direct_channels import PEER, channel

ORDER_ID = "5b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55FO"
EXTENSION_ID = "5b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e56FX"
Story = Callable[["Teller"], Awaitable[None]]


class Teller:
    """Tells a story step by step; told again, it skips what the world has done."""

    def __init__(self, harness: OrdersHarness) -> None:
        self.harness = harness
        self.happened: dict[str, Any] = {}

    def revived(self, harness: OrdersHarness) -> "Teller":
        again = Teller(harness)
        again.happened = self.happened
        return again

    def once(self, name: str, happens: Callable[[], Any]) -> None:
        """Let something happen in the world, which does not die with us."""
        if name not in self.happened:
            self.happened[name] = happens()

    async def create(self) -> Order:
        order = await self.harness.create(CHANNEL, HARBOUR, ORDER_ID)
        await self.harness.settle_down()
        return order

    async def settle(self) -> None:
        await self.harness.settle_down()


async def pay_by_lightning(teller: Teller) -> None:
    order = await teller.create()
    request = order.payment_request
    if request is not None:
        teller.once(
            "paid", lambda: teller.harness.payments.pay(request, PRICE - 700 + 9)
        )
    await teller.settle()


async def pay_with_coins(teller: Teller) -> None:
    order = await teller.create()

    def pay() -> None:
        teller.harness.payments.send(order.onchain_address, 10_000)
        teller.harness.payments.send(order.onchain_address, 10_000)
        teller.harness.payments.mine()

    teller.once("paid", pay)
    await teller.settle()


async def pay_by_lightning_and_cancel(teller: Teller) -> None:
    await pay_by_lightning(teller)
    await teller.harness.cancel(
        await teller.harness.database.reader.orders.get(ORDER_ID)
    )
    await teller.settle()


async def pay_for_nothing(teller: Teller) -> None:
    teller.harness.market.refuses = "the account is empty"
    await pay_by_lightning(teller)


async def expire(teller: Teller) -> None:
    order = await teller.create()
    teller.once(
        "paid", lambda: teller.harness.payments.send(order.onchain_address, 10_000)
    )
    teller.once("mined", teller.harness.payments.mine)
    await teller.settle()
    teller.harness.now += timedelta(hours=2)
    await teller.settle()


async def be_filled(teller: Teller) -> None:
    await pay_by_lightning(teller)
    ticket = await teller.harness.ticket(
        await teller.harness.database.reader.orders.get(ORDER_ID)
    )
    teller.once("registered", lambda: teller.harness.market.register(ticket))
    await teller.harness.follow_tickets()
    teller.once("matched", lambda: teller.harness.market.match(ticket, unused=318))
    await teller.harness.follow_tickets()


STORIES: dict[Story, tuple[OrderStatus, int, int]] = {
    # where the order ends, the credit there is, what we have received
    pay_by_lightning: (OrderStatus.CREATED, 9, PRICE - 700 + 9),
    pay_with_coins: (OrderStatus.CREATED, 20_000 - PRICE + 700, 20_000),
    pay_by_lightning_and_cancel: (OrderStatus.CANCELLED, PRICE + 9, PRICE - 700 + 9),
    pay_for_nothing: (OrderStatus.FAILED, 700, 0),
    expire: (OrderStatus.EXPIRED, 10_700, 10_000),
    be_filled: (OrderStatus.FILLED, 9 + 318, PRICE - 700 + 9),
}


async def _interrupted(harness: OrdersHarness, story: Story, fuse: Fuse) -> bool:
    """Run the story until it dies or ends, then start again; True if it died."""
    await harness.give_credit(700)
    payments, market = harness.payments, harness.market
    doomed = replace(
        harness,
        database=FailingDatabase(harness.database, fuse),
        payments=failing(payments, fuse, "request", "settle", "cancel"),
        market=failing(market, fuse, "offer", "withdraw"),
    )
    teller = Teller(doomed)
    died = False
    try:
        await story(teller)
    except Crashed:
        died = True
    harness.now = doomed.now + timedelta(minutes=1)  # its leases have run out
    harness.deafen()
    await harness.start_sweeping()
    await story(teller.revived(harness))
    for _ in range(3):
        await harness.pass_time(minutes=1)
    return died


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
async def test_it_may_die_at_any_step(
    sqlite_template: Path,
    tmp_path: Path,
    sealer: Sealer,
    story: Story,
    after: bool,  # noqa: FBT001
) -> None:
    for steps in range(1, 100):
        path = tmp_path / f"{steps}.db"
        shutil.copy(sqlite_template, path)
        database = await open_database(f"sqlite:///{path}")
        harness = OrdersHarness(database=database, sealer=sealer)
        await harness.open()
        died = await _interrupted(harness, story, Fuse(steps=steps, after=after))
        status, credit, received = STORIES[story]
        order = await database.reader.orders.get(ORDER_ID)
        assert (
            order.status,
            await harness.credit(),
            -await harness.balance_of(ledger.RECEIVED),
            harness.payments.received(),
        ) == (status, credit, received, received), f"died at step {steps}"
        made = [
            state for state in harness.market.tickets().values() if state != "cancelled"
        ]
        assert len(made) == (1 if order.status in {"created", "filled"} else 0)
        await harness.prove()
        await database.close()
        if not died:
            assert steps > 5
            return
    raise AssertionError("it never ends")


async def extend(teller: Teller, blocks: int) -> None:
    harness = teller.harness
    made = await extensions.extend(
        harness.channels,
        HARBOUR,
        ORDER_ID,
        EXTENSION_ID,
        blocks,
        most=None,
        actor="test",
        now=harness.now,
    )
    await teller.settle()
    if made.payment_hash:
        request, sats = made.payment_request, made.total_fee + 9
        teller.once("paid", lambda: harness.payments.pay(request, sats))
    await teller.settle()


async def _extension_interrupted(
    harness: OrdersHarness, blocks: int, fuse: Fuse
) -> bool:
    """Extend a lease until that dies or ends, then start again; True if it died."""
    doomed = replace(
        harness,
        database=FailingDatabase(harness.database, fuse),
        payments=failing(harness.payments, fuse, "request", "settle", "cancel"),
    )
    teller, died = Teller(doomed), False
    try:
        await extend(teller, blocks)
    except Crashed:
        died = True
    harness.now = doomed.now + timedelta(minutes=1)  # its claims have run out
    harness.deafen()
    await extend(teller.revived(harness), blocks)
    for _ in range(3):
        await harness.pass_time(minutes=1)
    return died


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("blocks", [2_016, 8_064], ids=["credit", "invoice"])
async def test_an_extension_may_die_at_any_step(
    sqlite_template: Path,
    tmp_path: Path,
    sealer: Sealer,
    blocks: int,
    after: bool,  # noqa: FBT001
) -> None:
    for steps in range(1, 50):
        path = tmp_path / f"{steps}.db"
        shutil.copy(sqlite_template, path)
        database = await open_database(f"sqlite:///{path}")
        harness = OrdersHarness(database=database, sealer=sealer)
        await harness.open()
        harness.seller.fill([3_000_000])
        harness.seller.online.add(PEER)
        order = await harness.create(channel(), HARBOUR, ORDER_ID)
        harness.payments.pay(request_of(order))
        await harness.settle_down()
        credit = await harness.credit()
        fuse = Fuse(steps=steps, after=after)
        died = await _extension_interrupted(harness, blocks, fuse)
        (made,) = await database.reader.extensions.of_orders([ORDER_ID])
        assert made.status is ExtensionStatus.EXTENDED, f"died at step {steps}"
        (lease,) = await database.reader.leases.running(limit=9)
        assert (lease.extended, lease.ends) == (blocks, 1_000 + 2_016 + blocks)
        due = 9 if made.payment_hash else -made.total_fee
        assert await harness.credit() == credit + due, f"died at step {steps}"
        await harness.prove()
        await database.close()
        if not died:
            assert steps > 1
            return
    raise AssertionError("it never ends")
