"""A debt that begins between the look at it and the commit is repaid first.

Whoever gives back has locked the organization. SQLite has one writer at a time; it is
PostgreSQL where each of these goes red without `lock_organizations`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct import seller_watch
from leyden.channels.money import credit
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.services import EXPIRY, OPENING, TICKET
from leyden.channels.tickets import missing_tickets
from leyden.channels.tickets.rules.tickets import Progress, TicketState
from leyden.channels.tickets.tickets import apply_progress
from tests.channels import test_direct_channels as direct
from tests.channels.orders_harness import HARBOUR, PRICE, OrdersHarness, request_of
from tests.channels.test_unused_fees import LEFT, filled, paid
from tests.fakes.channels import FEE_VBYTES
from tests.lock_waits import until_stuck

DEBT = 100_000
PART = 5_000

# What gives back, and how much.
Giving = tuple[Callable[[], Awaitable[object]], int]


async def part_paid(harness: OrdersHarness) -> Order:
    await harness.give_credit(PART)
    return await harness.create()


async def paid_directly(harness: OrdersHarness) -> Order:
    harness.seller.fill([3_000_000])
    harness.seller.online.add(direct.PEER)
    await harness.give_credit(direct.PRICE)
    return await harness.create(direct.channel())


async def a_filled_ticket(harness: OrdersHarness) -> Giving:
    order = await paid(harness)
    return partial(apply_progress, harness.channels, order.id, filled()), LEFT


async def a_cancelled_ticket(harness: OrdersHarness) -> Giving:
    order = await paid(harness)
    cancelled = Progress(state=TicketState.CANCELLED)
    return partial(apply_progress, harness.channels, order.id, cancelled), PRICE


async def an_abandoned_ticket(harness: OrdersHarness) -> Giving:
    order = await paid(harness)
    harness.market.forget(await harness.ticket(order))
    abandon = partial(
        missing_tickets.abandon,
        harness.channels,
        order.id,
        reason="poold lost its data",
        actor="operator:alice",
    )
    return abandon, PRICE


async def a_refusal_of_the_market(harness: OrdersHarness) -> Giving:
    harness.market.refuses = "no"
    await harness.give_credit(PRICE)
    await harness.create()
    return partial(harness.work, TICKET), PRICE


async def the_end_of_its_time(harness: OrdersHarness) -> Giving:
    order = await part_paid(harness)
    harness.now = order.expires
    return partial(harness.work, EXPIRY), PART


async def its_buyer(harness: OrdersHarness) -> Giving:
    return partial(harness.cancel, await part_paid(harness)), PART


async def a_payment_that_timed_out(harness: OrdersHarness) -> Giving:
    order = await part_paid(harness)
    harness.payments.pay(request_of(order))
    await harness.hear()
    assert await harness.status(order) is OrderStatus.CREATING
    harness.payments.time_out(request_of(order))
    return harness.hear, PART


async def too_much_over_lightning(harness: OrdersHarness) -> Giving:
    order = await harness.create()
    harness.payments.pay(request_of(order), PRICE + PART)
    await harness.hear()
    return partial(harness.work, TICKET), PART


async def a_late_payment(harness: OrdersHarness) -> Giving:
    order = await harness.create()
    harness.now = order.expires
    await harness.work(EXPIRY)
    assert await harness.status(order) is OrderStatus.EXPIRED
    harness.payments.send(order.onchain_address, PART)
    await harness.hear()
    harness.payments.mine(3)
    return harness.hear, PART


async def a_payment_settled_late(harness: OrdersHarness) -> Giving:
    order = await harness.create()
    harness.now = order.expires
    await harness.work(EXPIRY)
    harness.payments.pay(request_of(order))
    assert await harness.payments.settle(request_of(order)), "by hand, in the treasury"
    return harness.hear, PRICE


async def a_published_channel(harness: OrdersHarness) -> Giving:
    await paid_directly(harness)
    return partial(harness.work, OPENING), 240 * 50 - FEE_VBYTES * 10


async def a_lost_channel(harness: OrdersHarness) -> Giving:
    order = await paid_directly(harness)
    await harness.settle_down()
    order = await harness.get(order)
    harness.seller.take_coin(order.channel_point)
    harness.seller.height += 6
    cost = direct.PRICE - await harness.credit()
    return partial(seller_watch.check, harness.channels), cost


@pytest.mark.parametrize(
    "by",
    [
        a_filled_ticket,
        a_cancelled_ticket,
        an_abandoned_ticket,
        a_refusal_of_the_market,
        the_end_of_its_time,
        its_buyer,
        a_payment_that_timed_out,
        too_much_over_lightning,
        a_late_payment,
        a_payment_settled_late,
        a_published_channel,
        a_lost_channel,
    ],
)
async def test_what_is_owed_from_the_same_moment_is_repaid_first(
    harness: OrdersHarness, by: Callable[[OrdersHarness], Awaitable[Giving]]
) -> None:
    give, back = await by(harness)
    before = await harness.credit()
    begun, go = asyncio.Event(), asyncio.Event()

    async def begin_debt() -> None:
        debt = Entry(
            key="a debt",
            what=Reason.CORRECTION,  # of no treasury, which knows nothing of it
            source=ledger.receivable(HARBOUR),
            target=ledger.CORRECTIONS,
            sats=Sats(DEBT),
            organization_id=HARBOUR,
        )
        async with harness.database.transaction() as tx:
            await tx.ledger.post([debt], at=harness.now)
            begun.set()
            await go.wait()

    beginning = asyncio.create_task(begin_debt())
    await begun.wait()
    giving = asyncio.ensure_future(give())
    await until_stuck(harness.database, giving)
    go.set()
    await asyncio.gather(beginning, giving)
    assert await harness.credit() == before
    owed = (await credit.balance(harness.database, HARBOUR)).owed
    assert owed == DEBT - back
