"""How many unpaid orders a node and an address may have, to the order."""

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct import reservations
from leyden.channels.direct.lsps1 import limits
from leyden.channels.direct.lsps1.limits import Orderer
from leyden.channels.direct.rules.lsps1 import Transport
from leyden.channels.direct.rules.openings import Coin
from leyden.channels.rules.payments import Outpoint
from leyden.errors import SoldOut, TooMany
from leyden.values import replace
from tests.channels.shop_harness import ShopHarness, request_of
from tests.channels.test_lsps1 import OTHER, RULES, ordered, over_bolt8, over_http, shop

__all__ = ["shop"]  # the fixture: a seller with many coins, and no limit but LSPS1's


async def check(
    harness: ShopHarness, who: Orderer, *, counted: bool, capacity: int = 1_000_000
) -> None:
    reader = harness.database.reader
    await limits.check_orders(reader, harness.rules, who, capacity, counted=counted)


async def is_refused(
    harness: ShopHarness, who: Orderer, *, counted: bool, capacity: int = 1_000_000
) -> str:
    with pytest.raises(TooMany) as told:
        await check(harness, who, counted=counted, capacity=capacity)
    assert told.value.retry_after_s == 600
    return told.value.message.partition(" has ")[0]


async def test_a_node_has_as_many_orders_as_it_may_and_not_one_more(
    shop: ShopHarness,
) -> None:
    shop.rules = replace(shop.rules, lsps1=replace(RULES, orders_per_peer=2))
    await check(shop, over_bolt8(), counted=False)
    await ordered(shop)
    await check(shop, over_bolt8(), counted=False)
    await ordered(shop)
    await check(shop, over_bolt8(), counted=True)
    assert await is_refused(shop, over_bolt8(), counted=False) == "this node"
    await check(shop, over_bolt8(OTHER), counted=False)
    await check(shop, over_http(), counted=False)
    shop.rules = replace(shop.rules, lsps1=replace(RULES, orders_per_peer=1))
    assert await is_refused(shop, over_bolt8(), counted=True) == "this node"


async def test_strangers_order_half_of_what_a_node_may_have(shop: ShopHarness) -> None:
    """The first order may be larger: there is none to leave room beside."""
    shop.rules = replace(shop.rules, seller_most_per_peer=Sats(4_000_000))
    await check(shop, over_http(), counted=False, capacity=4_000_000)
    await ordered(shop, over_http())
    await check(shop, over_http(), counted=True, capacity=4_000_000)
    await check(shop, over_http(), counted=False, capacity=1_000_000)
    assert await is_refused(shop, over_http(), counted=False, capacity=1_000_001)
    await check(shop, over_bolt8(), counted=False, capacity=4_000_000)
    await ordered(shop, over_http())
    await check(shop, over_http(), counted=True, capacity=9_999_999)
    shop.rules = replace(shop.rules, seller_most_per_peer=Sats(3_999_999))
    assert await is_refused(shop, over_http(), counted=True, capacity=1)
    await ordered(shop)
    await check(shop, over_bolt8(), counted=False, capacity=4_000_000)


async def test_an_address_has_as_many_orders_as_it_may_for_any_node(
    shop: ShopHarness,
) -> None:
    shop.rules = replace(shop.rules, lsps1=replace(RULES, orders_per_address=2))
    await ordered(shop, over_http())
    await check(shop, over_http(), counted=False)
    await ordered(shop, over_http(OTHER))
    await check(shop, over_http(), counted=True)
    assert await is_refused(shop, over_http(), counted=False) == "your IP address"
    await check(shop, over_http(address="192.0.2.1"), counted=False)
    await check(
        shop, Orderer(source=Transport.HTTP, peer=OTHER, address=""), counted=False
    )


async def test_orders_reserve_as_many_coins_as_they_may(
    shop: ShopHarness,
) -> None:
    shop.seller.online.clear()
    order = await ordered(shop)
    shop.payments.pay(request_of(order))
    await shop.settle_down()  # which takes a coin of 3,000,000
    more = [Coin(sats=Sats(each), outpoint=Outpoint("ab" * 32, 0)) for each in (1, 20)]
    for most, asked in ((3_000_021, more), (3_000_000, [])):
        rules = replace(RULES, most_reserved=Sats(most))
        await reservations.check_coins(shop.database.reader, rules, asked)
        rules = replace(RULES, most_reserved=Sats(most - 1))
        with pytest.raises(SoldOut) as told:
            await reservations.check_coins(shop.database.reader, rules, asked)
        assert told.value.retry_after_s == 600
