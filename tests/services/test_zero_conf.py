"""Who gets no channel that is usable at once is told so before it is priced."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from leyden.domain.openings import LSPS, SCID_ALIAS, ZERO_CONF
from leyden.errors import Malformed, Upgrading
from leyden.services.channels import reservations, zero_conf
from leyden.values import replace
from tests.domain.nodes import a_node, some_settings
from tests.services.shop_harness import ShopHarness
from tests.services.test_direct_channels import PEER

BOTH = a_node(settings=some_settings(zeroconf=True, optionscidalias=True))


@pytest.fixture
async def shop(harness: ShopHarness) -> AsyncIterator[ShopHarness]:
    harness.seller.online.add(PEER)
    yield harness
    await harness.prove()


async def floor(shop: ShopHarness) -> str:
    return await shop.database.reader.replicas.floor()


async def is_offered(shop: ShopHarness) -> bool:
    wallet = await reservations.read_wallet(shop.shop)
    return await zero_conf.is_offered(shop.shop, wallet)


async def test_it_is_offered_where_every_replica_knows_it(shop: ShopHarness) -> None:
    before = await floor(shop)
    assert before < "0036"
    async with shop.database.transaction() as tx:
        until = shop.now + timedelta(minutes=1)
        assert await tx.replicas.enter(
            "one", newest="0035_fundings", until=until, delete_before=shop.now
        )
    assert not await is_offered(shop)
    with pytest.raises(Upgrading) as told:
        await zero_conf.check(shop.shop, PEER, None, announce=False)
    assert told.value.retry_after_s == 60
    assert await floor(shop) == before
    shop.now += timedelta(minutes=1)
    assert await is_offered(shop)
    assert await floor(shop) == "0036_zero_conf"
    assert await is_offered(shop)
    await zero_conf.check(shop.shop, PEER, None, announce=False)


async def test_a_seller_that_opens_none_offers_none(shop: ShopHarness) -> None:
    before = await floor(shop)
    shop.seller.own_features = frozenset({SCID_ALIAS, LSPS})
    assert not await is_offered(shop)
    assert await floor(shop) == before
    with pytest.raises(Malformed, match=r"^zero_conf: the seller does not support it"):
        await zero_conf.check(shop.shop, PEER, None, announce=False)


async def test_everybody_may_not_know_of_it(shop: ShopHarness) -> None:
    with pytest.raises(Malformed, match=r"^zero_conf: needs a private channel"):
        await zero_conf.check(shop.shop, PEER, None, announce=True)


@pytest.mark.parametrize(("zeroconf", "alias"), [(1, 0), (0, 1), (0, 0)])
async def test_a_hosted_node_is_set_to_take_it_first(
    shop: ShopHarness, zeroconf: int, alias: int
) -> None:
    await zero_conf.check(shop.shop, PEER, BOTH, announce=False)
    settings = some_settings(zeroconf=bool(zeroconf), optionscidalias=bool(alias))
    with pytest.raises(Malformed, match=r"^zero_conf: set optionscidalias and "):
        await zero_conf.check(
            shop.shop, PEER, replace(BOTH, settings=settings), announce=False
        )


async def test_a_node_that_is_connected_is_asked_and_another_is_not_judged(
    shop: ShopHarness,
) -> None:
    shop.seller.peer_features = frozenset({ZERO_CONF})
    with pytest.raises(Malformed, match=r"^zero_conf: this node does not support it"):
        await zero_conf.check(shop.shop, PEER, None, announce=False)
    shop.seller.online.clear()
    await zero_conf.check(shop.shop, PEER, None, announce=False)
