"""What unpaid orders hold: a third for one customer, nothing for strangers."""

from collections.abc import AsyncIterator

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.services import Lsps1Settings
from leyden.values import replace
from tests.channels.orders_harness import HARBOUR, LIGHTHOUSE, OrdersHarness, request_of
from tests.channels.test_direct_channels import OTHER, PEER, PRICE, channel
from tests.channels.test_lsps1 import ordered, over_bolt8, over_http

KEYS = [
    PEER,
    OTHER,
    "02f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9",
    "02e493dbf1c10d80f3581e4904930b1404cc6c13900ee0758474fa94abe8c4cd13",
    "022f8bde4d1a07209355b4a7250a5c5128e88b84bddc619ab7cba8d569b240efe4",
]


@pytest.fixture
async def direct(harness: OrdersHarness) -> AsyncIterator[OrdersHarness]:
    harness.rules = replace(harness.rules, lsps1=Lsps1Settings(organization=HARBOUR))
    harness.seller.online |= set(KEYS)
    yield harness
    await harness.settle_down()
    await harness.prove()
    for each in await harness.database.reader.orders.all_():
        assert len(harness.seller.opened_for(each.id)) <= 1


async def reserved(direct: OrdersHarness, *orders: Order) -> list[int]:
    """Return the coins that each of these holds, as numbers."""
    of_order = direct.database.reader.reserved_coins.of_order
    return [len(await of_order(each.id)) for each in orders]


# Strangers.


async def test_a_stranger_reserves_nothing_when_his_orders_are_unpaid(
    direct: OrdersHarness,
) -> None:
    direct.seller.fill([19_800_000] * 5)
    made = [await ordered(direct, lsp_balance_sat="9900000") for _ in range(5)]
    assert await reserved(direct, *made) == [0] * 5
    assert await direct.database.reader.reserved_coins.all_() == set()
    big = await direct.create(channel(OTHER, capacity=16_700_000), LIGHTHOUSE)
    assert await direct.status(big) is OrderStatus.WAITING_PAYMENT


async def test_a_stranger_leaves_the_hour_to_others_when_his_orders_are_unpaid(
    direct: OrdersHarness,
) -> None:
    direct.seller.fill([19_800_000] * 9)
    for peer in KEYS:
        await ordered(direct, over_http(peer), lsp_balance_sat="16700000")
    await direct.create(channel(OTHER, capacity=16_700_000), LIGHTHOUSE)


async def test_a_stranger_gets_coins_when_his_payment_is_held(
    direct: OrdersHarness,
) -> None:
    direct.seller.fill([3_000_000] * 3)
    direct.seller.online.clear()
    order = await ordered(direct)
    direct.payments.pay(request_of(order))
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.CREATED, (
        "its node is not connected"
    )
    assert await reserved(direct, order) == [1]
    direct.seller.online.add(PEER)
    await direct.pass_time(seconds=3)
    assert await direct.status(order) is OrderStatus.FILLED


async def test_a_stranger_keeps_his_money_when_the_coins_are_gone(
    direct: OrdersHarness,
) -> None:
    direct.seller.fill([3_000_000])
    first, second = await ordered(direct), await ordered(direct, over_bolt8(OTHER))
    direct.seller.online.clear()
    for each in (first, second):
        direct.payments.pay(request_of(each))
        await direct.settle_down()
    assert await reserved(direct, first, second) == [1, 0]
    second = await direct.get(second)
    assert (second.status, second.invoice) == (
        OrderStatus.FAILED,
        InvoiceState.CANCELLED,
    )
    assert await direct.credit() == 0


async def test_of_two_who_paid_at_once_one_gets_the_last_coin(
    direct: OrdersHarness,
) -> None:
    direct.seller.fill([1_200_000])  # whose change is too small for another channel
    both = [await ordered(direct, over_bolt8(peer)) for peer in (PEER, OTHER)]
    for each in both:
        direct.payments.pay(request_of(each))
    await direct.settle_down()
    found = sorted([await direct.status(each) for each in both])
    assert found == [OrderStatus.FAILED, OrderStatus.FILLED]


async def test_a_paid_stranger_is_refunded_when_the_hour_is_sold(
    direct: OrdersHarness,
) -> None:
    direct.seller.fill([3_000_000] * 6)
    direct.rules = replace(direct.rules, seller_most_per_hour=Sats(1_000_000))
    first, second = await ordered(direct), await ordered(direct, over_bolt8(OTHER))
    for each in (first, second):
        direct.payments.pay(request_of(each))
        await direct.settle_down()
    assert await direct.status(first) is OrderStatus.FILLED
    assert await direct.status(second) is OrderStatus.FAILED
    invoice = direct.payments.invoices[second.payment_hash]
    assert invoice.state is InvoiceState.CANCELLED


async def test_no_coins_are_reserved_when_an_unknown_opening_locks_some(
    direct: OrdersHarness,
) -> None:
    """It may be the order's own, from before the database was restored."""
    direct.seller.fill([3_000_000] * 6)
    order = await ordered(direct)
    direct.payments.pay(request_of(order))
    direct.seller.freezes = True
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.SUBMITTED
    async with direct.database.transaction() as tx:
        await tx.reserved_coins.release([order.id])
    await direct.pass_time(seconds=6)
    assert await reserved(direct, order) == [0]
    direct.seller.thaw(refuses=False)
    await direct.pass_time(seconds=6)
    assert await direct.status(order) is OrderStatus.FILLED


# Customers.


async def test_three_unpaid_orders_leave_the_hour_to_others(
    direct: OrdersHarness,
) -> None:
    direct.seller.fill([20_000_000] * 12)
    for number, capacity in enumerate((16_700_000, 16_700_000, 16_600_000)):
        await direct.create(channel(KEYS[number], capacity=capacity))
    await direct.create(channel(KEYS[3], capacity=16_700_000), LIGHTHOUSE)


@pytest.mark.parametrize(
    ("coins", "capacity", "hour", "expected"),
    [
        ([3_000_000] * 12, 1_000_000, 50_000_000, [1, 1, 1, 1, 0]),  # of the coins
        ([3_000_000] * 11, 1_000_000, 50_000_000, [1, 1, 1, 0, 0]),
        ([3_000_000] * 2, 1_000_000, 50_000_000, [0, 0, 0, 0, 0]),
        # Of the sum: 10,000,000 of 30,000,000 sat, and of a sat less.
        ([10_000_000, *[2_000_000] * 10], 9_900_000, 50_000_000, [1]),
        ([10_000_000, *[2_000_000] * 9, 1_999_999], 9_900_000, 50_000_000, [0]),
        # Of the hour.
        ([3_000_000] * 30, 1_000_000, 6_000_000, [1, 1, 0, 0, 0]),
        ([3_000_000] * 30, 1_000_000, 5_999_999, [1, 0, 0, 0, 0]),
    ],
)
async def test_unpaid_orders_hold_a_third_at_most(
    direct: OrdersHarness,
    coins: list[int],
    capacity: int,
    hour: int,
    expected: list[int],
) -> None:
    direct.seller.fill(coins)
    direct.rules = replace(direct.rules, seller_most_per_hour=Sats(hour))
    made = [
        await direct.create(channel(key, capacity=capacity))
        for key in KEYS[: len(expected)]
    ]
    assert await reserved(direct, *made) == expected


async def test_each_organization_has_its_own_third(direct: OrdersHarness) -> None:
    direct.seller.fill([3_000_000] * 3)
    made = [
        await direct.create(channel(key), who)
        for key, who in zip(KEYS, (HARBOUR, HARBOUR, LIGHTHOUSE), strict=False)
    ]
    assert await reserved(direct, *made) == [1, 0, 1]


async def test_a_paid_order_holds_beyond_the_third(direct: OrdersHarness) -> None:
    direct.seller.fill([3_000_000] * 3)
    direct.seller.online.clear()
    await direct.give_credit(2 * PRICE)
    made = [await direct.create(channel(key)) for key in KEYS[:2]]
    assert await reserved(direct, *made) == [1, 1]
    last = await direct.create(channel(KEYS[2]))
    assert await reserved(direct, last) == [1], "paid ones are no part of its third"


async def test_an_order_beyond_the_third_gets_coins_when_it_is_paid(
    direct: OrdersHarness,
) -> None:
    direct.seller.fill([3_000_000] * 2)
    order = await direct.create(channel())
    assert await reserved(direct, order) == [0]
    direct.payments.send(order.onchain_address, PRICE)
    direct.payments.mine()
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.FILLED


async def test_an_order_beyond_the_third_becomes_credit_when_the_coins_are_gone(
    direct: OrdersHarness,
) -> None:
    direct.seller.fill([3_000_000])
    direct.seller.online.clear()
    order, other = await direct.create(channel()), await direct.create(channel(OTHER))
    direct.payments.pay(request_of(other))
    await direct.settle_down()
    direct.payments.send(order.onchain_address, PRICE)
    direct.payments.mine()
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.FAILED
    assert await direct.credit() == PRICE


# Payments that nobody has confirmed.


async def test_a_payment_without_confirmations_holds_nothing_beyond_the_deadline(
    direct: OrdersHarness,
) -> None:
    direct.seller.fill([3_000_000] * 3)
    order = await direct.create(channel())
    direct.payments.send(order.onchain_address, PRICE)
    await direct.pass_time(minutes=59)
    assert await reserved(direct, order) == [1]
    await direct.pass_time(minutes=2)
    assert await direct.status(order) is OrderStatus.EXPIRED
    assert await reserved(direct, order) == [0]
    direct.payments.mine()
    await direct.settle_down()
    assert await direct.credit() == PRICE


async def test_a_payment_with_too_few_confirmations_is_waited_for(
    direct: OrdersHarness,
) -> None:
    """It was really paid: at worst a reorganization takes it back."""
    direct.seller.fill([20_000_000] * 3)
    order = await direct.create(channel(capacity=16_700_000))
    direct.payments.send(order.onchain_address, 1_000_000)  # which needs two
    direct.payments.mine()
    await direct.pass_time(minutes=61)
    assert await direct.status(order) is OrderStatus.WAITING_PAYMENT
    direct.payments.mine()
    await direct.pass_time(minutes=2)
    assert await direct.status(order) is OrderStatus.FILLED
