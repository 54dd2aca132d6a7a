"""What the operator is told of the seller's wallet."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct import seller_balance, seller_watch
from leyden.channels.direct.rules.fundings import CHILD_VBYTES, FundingRules
from leyden.channels.direct.seller_balance import SellerBalance, Unconfirmed
from leyden.errors import SellerAway
from leyden.values import replace
from tests.channels.orders_harness import LIGHTHOUSE, OrdersHarness
from tests.channels.test_direct_channels import OTHER, PEER, channel, paid
from tests.fakes.channels import FEE_VBYTES


@pytest.fixture
async def direct(harness: OrdersHarness) -> AsyncIterator[OrdersHarness]:
    harness.rules = replace(
        harness.rules, fundings=FundingRules(bump_after=2, highest_sat_per_vb=40)
    )
    harness.seller.fill([3_000_000, 2_000_000, 5_000_000, 4_000_000])
    harness.seller.online.add(PEER)
    yield harness
    await harness.prove()


def balance(direct: OrdersHarness, **of: Any) -> SellerBalance:
    pubkey = direct.seller.pubkey
    found = SellerBalance(
        pubkey=pubkey,
        uri=f"{pubkey}@seller.example:9735",
        height=1_000,
        fee_sat_per_vb=10,
        coins=4,
        free=Sats(14_000_000),
        largest=Sats(5_000_000),
        reserved=Sats(0),
        locked=Sats(0),
        unconfirmed=Sats(0),
    )
    return replace(found, **of)


async def test_a_coin_is_free_or_an_orders_or_an_openings(
    direct: OrdersHarness,
) -> None:
    assert await seller_balance.read(direct.channels) == balance(direct)
    order = await direct.create(channel())
    assert await seller_balance.read(direct.channels) == balance(
        direct, coins=3, free=12_000_000, reserved=2_000_000
    )
    await direct.give_credit(100_000, LIGHTHOUSE)
    direct.seller.online.discard(OTHER)
    await direct.create(channel(OTHER, capacity=4_500_000), LIGHTHOUSE)
    direct.seller.freezes = True
    await paid(direct, order)
    assert await seller_balance.read(direct.channels) == balance(
        direct,
        coins=2,
        free=7_000_000,
        largest=4_000_000,
        reserved=5_000_000,
        locked=2_000_000,
    )
    direct.seller.coins.clear()
    direct.seller.channels.clear()
    assert await seller_balance.read(direct.channels) == balance(
        direct, coins=0, free=0, largest=0
    )


async def test_a_channel_that_no_block_has_is_told_with_what_was_done(
    direct: OrdersHarness,
) -> None:
    order = await paid(direct, await direct.create(channel()))
    unconfirmed = Unconfirmed(
        order_id=order.id,
        channel_point=order.channel_point,
        blocks=0,
        bumps=0,
        sat_per_vb=0,
        answer="",
        needs_you="",
    )
    assert await seller_balance.unconfirmed(direct.channels, height=1_000) == [
        unconfirmed
    ]
    assert await seller_balance.unconfirmed(direct.channels, height=999) == [
        unconfirmed
    ]
    direct.seller.mined_from, direct.seller.fee_sat_per_vb = 1_000, 30
    direct.seller.height += 2
    await seller_watch.check(direct.channels)
    bumped = replace(unconfirmed, bumps=1, sat_per_vb=30, answer="taken")
    assert await seller_balance.unconfirmed(direct.channels, height=1_007) == [
        replace(bumped, blocks=7)
    ]
    ((_, fee),) = direct.seller.bumps
    assert fee == 30 * (FEE_VBYTES + CHILD_VBYTES) - 10 * FEE_VBYTES
    direct.seller.channels[order.channel_point].forgotten = True
    await seller_watch.check(direct.channels)
    assert await seller_balance.unconfirmed(direct.channels, height=1_002) == [
        replace(bumped, blocks=2, needs_you="vanished")
    ]


async def test_what_a_macaroon_lacks_is_asked_of_the_seller(
    direct: OrdersHarness,
) -> None:
    assert await seller_balance.denied(direct.channels) == []
    direct.seller.bumpable = False
    (lacks,) = await seller_balance.denied(direct.channels)
    assert lacks in seller_balance.old_macaroon([lacks])
    assert await seller_balance.denied(replace(direct.channels, seller=None)) == []


async def test_an_address_is_of_the_right_wallet_or_none(direct: OrdersHarness) -> None:
    assert await seller_balance.address(direct.channels) == f"bcrt1p{'q' * 58}"
    with pytest.raises(SellerAway, match="sells no direct channels"):
        await seller_balance.address(replace(direct.channels, seller=None))
    direct.rules = replace(direct.rules, seller=OTHER)
    with pytest.raises(SellerAway):
        await seller_balance.address(direct.channels)


async def test_a_wallet_below_the_limit_is_an_alarm(direct: OrdersHarness) -> None:
    free = replace(balance(direct), free=Sats(5_000_000))
    assert seller_balance.alarm(free, low=Sats(5_000_000)) == ""
    assert seller_balance.alarm(free, low=Sats(5_000_001)) == (
        "the seller's wallet has 5,000,000 free sat: send more to the address "
        "from `leyden seller --address`"
    )


async def test_seller_that_no_payment_reaches_is_named(direct: OrdersHarness) -> None:
    assert "payers can't reach the channels" in await seller_balance.unreachable(
        direct.channels
    )
    direct.seller.reachable_by = Sats(1)
    assert await seller_balance.unreachable(direct.channels) == ""
    direct.seller.away = True
    with pytest.raises(SellerAway):
        await seller_balance.unreachable(direct.channels)
    assert await seller_balance.unreachable(replace(direct.channels, seller=None)) == ""


def test_a_macaroon_that_lacks_something_is_an_alarm() -> None:
    assert seller_balance.old_macaroon([]) == ""
    assert seller_balance.old_macaroon(["/a", "/b"]) == (
        "seller_macaroon lacks /a, /b: the platform can't bump, or credit, "
        "channels that stay unconfirmed; bake a new one, see "
        "docs/operators/sell-channels.md"
    )
