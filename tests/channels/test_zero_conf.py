"""Who gets no channel that is usable at once is told so before it is priced."""

from collections.abc import AsyncIterator

import pytest

from leyden.channels.direct import zero_conf
from leyden.channels.direct.rules.openings import LSPS, SCID_ALIAS, ZERO_CONF
from leyden.errors import Malformed
from leyden.values import replace
from tests.channels.orders_harness import OrdersHarness
from tests.channels.test_direct_channels import PEER
from tests.nodes.rules.nodes import a_node, some_settings

BOTH = a_node(settings=some_settings(zeroconf=True, optionscidalias=True))


@pytest.fixture
async def direct(harness: OrdersHarness) -> AsyncIterator[OrdersHarness]:
    harness.seller.online.add(PEER)
    yield harness
    await harness.prove()


async def test_a_seller_that_opens_none_offers_none(direct: OrdersHarness) -> None:
    direct.seller.own_features = frozenset({SCID_ALIAS, LSPS})
    with pytest.raises(Malformed, match=r"^zero_conf: the seller does not support it"):
        await zero_conf.check(direct.channels, PEER, None, announce=False)


async def test_everybody_may_not_know_of_it(direct: OrdersHarness) -> None:
    with pytest.raises(Malformed, match=r"^zero_conf: needs a private channel"):
        await zero_conf.check(direct.channels, PEER, None, announce=True)


@pytest.mark.parametrize(("zeroconf", "alias"), [(1, 0), (0, 1), (0, 0)])
async def test_a_hosted_node_is_set_to_take_it_first(
    direct: OrdersHarness, zeroconf: int, alias: int
) -> None:
    await zero_conf.check(direct.channels, PEER, BOTH, announce=False)
    settings = some_settings(zeroconf=bool(zeroconf), optionscidalias=bool(alias))
    with pytest.raises(Malformed, match=r"^zero_conf: set optionscidalias and "):
        await zero_conf.check(
            direct.channels, PEER, replace(BOTH, settings=settings), announce=False
        )


async def test_a_node_that_is_connected_is_asked_and_another_is_not_judged(
    direct: OrdersHarness,
) -> None:
    direct.seller.peer_features = frozenset({ZERO_CONF})
    with pytest.raises(Malformed, match=r"^zero_conf: this node does not support it"):
        await zero_conf.check(direct.channels, PEER, None, announce=False)
    direct.seller.online.clear()
    await zero_conf.check(direct.channels, PEER, None, announce=False)
