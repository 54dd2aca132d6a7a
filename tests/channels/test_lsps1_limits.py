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
from tests.channels.orders_harness import OrdersHarness, request_of
from tests.channels.test_lsps1 import (
    OTHER,
    RULES,
    direct,
    ordered,
    over_bolt8,
    over_http,
)

__all__ = ["direct"]  # the fixture: a seller with many coins, and no limit but LSPS1's


async def check(
    harness: OrdersHarness, who: Orderer, *, counted: bool, capacity: int = 1_000_000
) -> None:
    reader = harness.database.reader
    await limits.check_orders(reader, harness.rules, who, capacity, counted=counted)


async def is_refused(
    harness: OrdersHarness, who: Orderer, *, counted: bool, capacity: int = 1_000_000
) -> str:
    with pytest.raises(TooMany) as raised:
        await check(harness, who, counted=counted, capacity=capacity)
    assert raised.value.retry_after_s == 600
    return raised.value.message.partition(" has ")[0]


async def test_a_node_has_as_many_orders_as_it_may_and_not_one_more(
    direct: OrdersHarness,
) -> None:
    direct.rules = replace(direct.rules, lsps1=replace(RULES, orders_per_peer=2))
    await check(direct, over_bolt8(), counted=False)
    await ordered(direct)
    await check(direct, over_bolt8(), counted=False)
    await ordered(direct)
    await check(direct, over_bolt8(), counted=True)
    assert await is_refused(direct, over_bolt8(), counted=False) == "this node"
    await check(direct, over_bolt8(OTHER), counted=False)
    await check(direct, over_http(), counted=False)
    direct.rules = replace(direct.rules, lsps1=replace(RULES, orders_per_peer=1))
    assert await is_refused(direct, over_bolt8(), counted=True) == "this node"


async def test_strangers_order_half_of_what_a_node_may_have(
    direct: OrdersHarness,
) -> None:
    """The first order may be larger: there is none to leave room beside."""
    direct.rules = replace(direct.rules, seller_most_per_peer=Sats(4_000_000))
    await check(direct, over_http(), counted=False, capacity=4_000_000)
    await ordered(direct, over_http())
    await check(direct, over_http(), counted=True, capacity=4_000_000)
    await check(direct, over_http(), counted=False, capacity=1_000_000)
    assert await is_refused(direct, over_http(), counted=False, capacity=1_000_001)
    await check(direct, over_bolt8(), counted=False, capacity=4_000_000)
    await ordered(direct, over_http())
    await check(direct, over_http(), counted=True, capacity=9_999_999)
    direct.rules = replace(direct.rules, seller_most_per_peer=Sats(3_999_999))
    assert await is_refused(direct, over_http(), counted=True, capacity=1)
    await ordered(direct)
    await check(direct, over_bolt8(), counted=False, capacity=4_000_000)


async def test_an_address_has_as_many_orders_as_it_may_for_any_node(
    direct: OrdersHarness,
) -> None:
    direct.rules = replace(direct.rules, lsps1=replace(RULES, orders_per_address=2))
    await ordered(direct, over_http())
    await check(direct, over_http(), counted=False)
    await ordered(direct, over_http(OTHER))
    await check(direct, over_http(), counted=True)
    assert await is_refused(direct, over_http(), counted=False) == "your IP address"
    await check(direct, over_http(address="192.0.2.1"), counted=False)
    await check(
        direct, Orderer(source=Transport.HTTP, peer=OTHER, address=""), counted=False
    )


async def test_orders_reserve_as_many_coins_as_they_may(
    direct: OrdersHarness,
) -> None:
    direct.seller.online.clear()
    order = await ordered(direct)
    direct.payments.pay(request_of(order))
    await direct.settle_down()  # which takes a coin of 3,000,000
    more = [Coin(sats=Sats(each), outpoint=Outpoint("ab" * 32, 0)) for each in (1, 20)]
    for limit, request in ((3_000_021, more), (3_000_000, [])):
        rules = replace(RULES, most_reserved=Sats(limit))
        await reservations.check_coins(direct.database.reader, rules, request)
        rules = replace(RULES, most_reserved=Sats(limit - 1))
        with pytest.raises(SoldOut) as raised:
            await reservations.check_coins(direct.database.reader, rules, request)
        assert raised.value.retry_after_s == 600
