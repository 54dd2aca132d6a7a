"""What unpaid orders hold: a third for one customer, nothing for strangers."""

from collections.abc import AsyncIterator

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.rules.orders import Order, Status
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.shop import Lsps1Settings
from leyden.values import replace
from tests.channels.shop_harness import HARBOUR, LIGHTHOUSE, ShopHarness, request_of
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
async def shop(harness: ShopHarness) -> AsyncIterator[ShopHarness]:
    harness.rules = replace(harness.rules, lsps1=Lsps1Settings(organization=HARBOUR))
    harness.seller.online |= set(KEYS)
    yield harness
    await harness.settle_down()
    await harness.prove()
    for each in await harness.database.reader.orders.all_():
        assert len(harness.seller.opened_for(each.id)) <= 1


async def reserved(shop: ShopHarness, *orders: Order) -> list[int]:
    """Return the coins that each of these holds, as numbers."""
    of_order = shop.database.reader.reserved_coins.of_order
    return [len(await of_order(each.id)) for each in orders]


# Strangers.


async def test_a_stranger_reserves_nothing_when_his_orders_are_unpaid(
    shop: ShopHarness,
) -> None:
    shop.seller.fill([19_800_000] * 5)
    made = [await ordered(shop, lsp_balance_sat="9900000") for _ in range(5)]
    assert await reserved(shop, *made) == [0] * 5
    assert await shop.database.reader.reserved_coins.all_() == set()
    big = await shop.create(channel(OTHER, capacity=16_700_000), LIGHTHOUSE)
    assert await shop.status(big) is Status.WAITING_PAYMENT


async def test_a_stranger_leaves_the_hour_to_others_when_his_orders_are_unpaid(
    shop: ShopHarness,
) -> None:
    shop.seller.fill([19_800_000] * 9)
    for peer in KEYS:
        await ordered(shop, over_http(peer), lsp_balance_sat="16700000")
    await shop.create(channel(OTHER, capacity=16_700_000), LIGHTHOUSE)


async def test_a_stranger_gets_coins_when_his_payment_is_held(
    shop: ShopHarness,
) -> None:
    shop.seller.fill([3_000_000] * 3)
    shop.seller.online.clear()
    order = await ordered(shop)
    shop.payments.pay(request_of(order))
    await shop.settle_down()
    assert await shop.status(order) is Status.CREATED, "its node is not connected"
    assert await reserved(shop, order) == [1]
    shop.seller.online.add(PEER)
    await shop.pass_time(seconds=3)
    assert await shop.status(order) is Status.FILLED


async def test_a_stranger_keeps_his_money_when_the_coins_are_gone(
    shop: ShopHarness,
) -> None:
    shop.seller.fill([3_000_000])
    first, second = await ordered(shop), await ordered(shop, over_bolt8(OTHER))
    shop.seller.online.clear()
    for each in (first, second):
        shop.payments.pay(request_of(each))
        await shop.settle_down()
    assert await reserved(shop, first, second) == [1, 0]
    second = await shop.get(second)
    assert (second.status, second.invoice) == (
        Status.FAILED,
        InvoiceState.CANCELLED,
    )
    assert await shop.credit() == 0


async def test_of_two_who_paid_at_once_one_gets_the_last_coin(
    shop: ShopHarness,
) -> None:
    shop.seller.fill([1_200_000])  # whose change is too small for another channel
    both = [await ordered(shop, over_bolt8(peer)) for peer in (PEER, OTHER)]
    for each in both:
        shop.payments.pay(request_of(each))
    await shop.settle_down()
    found = sorted([await shop.status(each) for each in both])
    assert found == [Status.FAILED, Status.FILLED]


async def test_a_paid_stranger_is_refunded_when_the_hour_is_sold(
    shop: ShopHarness,
) -> None:
    shop.seller.fill([3_000_000] * 6)
    shop.rules = replace(shop.rules, seller_most_per_hour=Sats(1_000_000))
    first, second = await ordered(shop), await ordered(shop, over_bolt8(OTHER))
    for each in (first, second):
        shop.payments.pay(request_of(each))
        await shop.settle_down()
    assert await shop.status(first) is Status.FILLED
    assert await shop.status(second) is Status.FAILED
    invoice = shop.payments.invoices[second.payment_hash]
    assert invoice.state is InvoiceState.CANCELLED


async def test_no_coins_are_reserved_when_an_unknown_opening_locks_some(
    shop: ShopHarness,
) -> None:
    """It may be the order's own, from before the database was restored."""
    shop.seller.fill([3_000_000] * 6)
    order = await ordered(shop)
    shop.payments.pay(request_of(order))
    shop.seller.freezes = True
    await shop.settle_down()
    assert await shop.status(order) is Status.SUBMITTED
    async with shop.database.transaction() as tx:
        await tx.reserved_coins.release([order.id])
    await shop.pass_time(seconds=6)
    assert await reserved(shop, order) == [0]
    shop.seller.thaw(refuses=False)
    await shop.pass_time(seconds=6)
    assert await shop.status(order) is Status.FILLED


# Customers.


async def test_three_unpaid_orders_leave_the_hour_to_others(shop: ShopHarness) -> None:
    shop.seller.fill([20_000_000] * 12)
    for number, capacity in enumerate((16_700_000, 16_700_000, 16_600_000)):
        await shop.create(channel(KEYS[number], capacity=capacity))
    await shop.create(channel(KEYS[3], capacity=16_700_000), LIGHTHOUSE)


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
    shop: ShopHarness,
    coins: list[int],
    capacity: int,
    hour: int,
    expected: list[int],
) -> None:
    shop.seller.fill(coins)
    shop.rules = replace(shop.rules, seller_most_per_hour=Sats(hour))
    made = [
        await shop.create(channel(key, capacity=capacity))
        for key in KEYS[: len(expected)]
    ]
    assert await reserved(shop, *made) == expected


async def test_each_organization_has_its_own_third(shop: ShopHarness) -> None:
    shop.seller.fill([3_000_000] * 3)
    made = [
        await shop.create(channel(key), who)
        for key, who in zip(KEYS, (HARBOUR, HARBOUR, LIGHTHOUSE), strict=False)
    ]
    assert await reserved(shop, *made) == [1, 0, 1]


async def test_a_paid_order_holds_beyond_the_third(shop: ShopHarness) -> None:
    shop.seller.fill([3_000_000] * 3)
    shop.seller.online.clear()
    await shop.give_credit(2 * PRICE)
    made = [await shop.create(channel(key)) for key in KEYS[:2]]
    assert await reserved(shop, *made) == [1, 1]
    last = await shop.create(channel(KEYS[2]))
    assert await reserved(shop, last) == [1], "paid ones are no part of its third"


async def test_an_order_beyond_the_third_gets_coins_when_it_is_paid(
    shop: ShopHarness,
) -> None:
    shop.seller.fill([3_000_000] * 2)
    order = await shop.create(channel())
    assert await reserved(shop, order) == [0]
    shop.payments.send(order.onchain_address, PRICE)
    shop.payments.mine()
    await shop.settle_down()
    assert await shop.status(order) is Status.FILLED


async def test_an_order_beyond_the_third_becomes_credit_when_the_coins_are_gone(
    shop: ShopHarness,
) -> None:
    shop.seller.fill([3_000_000])
    shop.seller.online.clear()
    order, other = await shop.create(channel()), await shop.create(channel(OTHER))
    shop.payments.pay(request_of(other))
    await shop.settle_down()
    shop.payments.send(order.onchain_address, PRICE)
    shop.payments.mine()
    await shop.settle_down()
    assert await shop.status(order) is Status.FAILED
    assert await shop.credit() == PRICE


# Payments that nobody has confirmed.


async def test_a_payment_without_confirmations_holds_nothing_beyond_the_deadline(
    shop: ShopHarness,
) -> None:
    shop.seller.fill([3_000_000] * 3)
    order = await shop.create(channel())
    shop.payments.send(order.onchain_address, PRICE)
    await shop.pass_time(minutes=59)
    assert await reserved(shop, order) == [1]
    await shop.pass_time(minutes=2)
    assert await shop.status(order) is Status.EXPIRED
    assert await reserved(shop, order) == [0]
    shop.payments.mine()
    await shop.settle_down()
    assert await shop.credit() == PRICE


async def test_a_payment_with_too_few_confirmations_is_waited_for(
    shop: ShopHarness,
) -> None:
    """It was really paid: at worst a reorganization takes it back."""
    shop.seller.fill([20_000_000] * 3)
    order = await shop.create(channel(capacity=16_700_000))
    shop.payments.send(order.onchain_address, 1_000_000)  # which needs two
    shop.payments.mine()
    await shop.pass_time(minutes=61)
    assert await shop.status(order) is Status.WAITING_PAYMENT
    shop.payments.mine()
    await shop.pass_time(minutes=2)
    assert await shop.status(order) is Status.FILLED
