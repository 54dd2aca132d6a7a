"""Direct channels that are usable before they are confirmed, over the API."""

import pytest

from leyden.channels.direct.rules.openings import LSPS, SCID_ALIAS, ZERO_CONF
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import World, ordered, until
from tests.channels.api.flow.test_direct import KEY

WISH = {"capacity": 1_000_000, "node": KEY, "zero_conf": True}


@pytest.fixture(autouse=True)
def coins(world: World) -> None:
    world.seller.fill([3_000_000, 3_000_000])
    world.seller.online.add(KEY)


async def test_it_is_opened_so_and_filled_once_published(
    alice: Caller, world: World
) -> None:
    order = await ordered(alice, node=KEY, zero_conf=True)
    assert order["zero_conf"] is True
    world.pay(order)
    found = await until(alice, order, "filled")
    (opened,) = world.seller.opened_for(order["order_id"])
    assert opened.wanted.zero_conf
    assert not opened.wanted.announce
    assert opened.published
    assert found["zero_conf"] is True
    plain = await ordered(alice, node=KEY)
    assert plain["zero_conf"] is False
    world.pay(plain)
    await until(alice, plain, "filled")
    (opened,) = world.seller.opened_for(plain["order_id"])
    assert not opened.wanted.zero_conf


async def refused(alice: Caller) -> str:
    said = set()
    for path in ("/flow/quote", "/flow/create"):
        answer = await alice.post(path, WISH)
        assert answer.status == 400, answer.body
        said.add(answer.json()["message"])
    (message,) = said
    return str(message)


@pytest.mark.parametrize("features", [set(), {ZERO_CONF}, {SCID_ALIAS}, {LSPS}])
async def test_a_connected_node_that_cannot_is_refused_by_field(
    alice: Caller, world: World, features: set[int]
) -> None:
    world.seller.peer_features = frozenset(features)
    assert (await refused(alice)).startswith("zero_conf: this node does not support it")
    assert world.seller.channels == {}


async def test_who_insists_on_it_knows_it(alice: Caller, world: World) -> None:
    world.seller.peer_features = frozenset({SCID_ALIAS - 1, ZERO_CONF - 1})
    assert (await alice.post("/flow/quote", WISH)).status == 200


async def test_a_seller_that_cannot_is_refused_by_field(
    alice: Caller, world: World
) -> None:
    world.seller.own_features = frozenset({LSPS})
    assert (await refused(alice)).startswith(
        "zero_conf: the seller does not support it"
    )


async def test_a_node_that_is_away_is_not_judged(alice: Caller, world: World) -> None:
    world.seller.online.clear()
    world.seller.peer_features = frozenset()
    order = await ordered(alice, node=KEY, zero_conf=True)
    world.seller.online.add(KEY)
    world.pay(order)
    await until(alice, order, "failed")
    assert world.seller.opened_for(order["order_id"]) == []


async def test_a_refusal_is_never_made_up_for_by_another_channel(
    alice: Caller, world: World
) -> None:
    world.seller.accepts_zero_conf = False
    order = await ordered(alice, node=KEY, zero_conf=True)
    world.pay(order)
    await until(alice, order, "failed")
    assert world.seller.channels == {}
