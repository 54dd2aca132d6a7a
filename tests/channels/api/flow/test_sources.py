"""What a list of sources sells, and what it refuses."""

import pytest
from msgspec.structs import force_setattr

from leyden.channels.rules.sources import Source
from leyden.channels.tickets.none import NoMarket
from leyden.values import replace
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import World, ordered, until
from tests.channels.api.flow.test_direct import KEY

DIRECT, TICKET = {"capacity": 1_000_000, "node": KEY}, {"capacity": 1_000_000}


def sell(world: World, *sources: Source) -> None:
    """Let the shop list these."""
    force_setattr(
        world.channels, "rules", replace(world.channels.rules, sources=sources)
    )


@pytest.fixture(autouse=True)
def coins(world: World) -> None:
    world.seller.fill([3_000_000])
    world.seller.online.add(KEY)


async def test_a_list_without_own_refuses_direct_orders(
    alice: Caller, world: World
) -> None:
    sell(world, Source.POOL)
    for path in ("/flow/quote", "/flow/create"):
        answer = await alice.post(path, DIRECT)
        assert answer.status == 400
        assert answer.json()["message"] == (
            "node: this platform sells only tickets; leave this field out"
        )
        by_id = {"capacity": 1_000_000, "node_id": "x"}
        refused = await alice.post(path, by_id)
        assert refused.status == 400
        assert refused.json()["message"].startswith("node_id: ")
    assert await world.channels.database.reader.reserved_coins.all_() == set()
    assert (await alice.post("/flow/quote", TICKET)).json()["source"] == "pool"


async def test_a_list_without_pool_refuses_tickets(alice: Caller, world: World) -> None:
    sell(world, Source.OWN)
    force_setattr(world.channels, "market", NoMarket())
    for path in ("/flow/quote", "/flow/create"):
        answer = await alice.post(path, TICKET)
        assert answer.status == 400
        assert answer.json()["message"] == (
            "node: is required, or node_id: this platform sells no tickets"
        )
    assert (await alice.get("/flow/orders")).json()["orders"] == []
    assert (await alice.post("/flow/quote", DIRECT)).json()["source"] == "own"
    order = await ordered(alice, node=KEY)
    world.pay(order)
    await until(alice, order, "filled")


async def test_simulated_tickets_say_so(alice: Caller, world: World) -> None:
    sell(world, Source.SIMULATED)
    assert (await alice.post("/flow/quote", TICKET)).json()["source"] == "simulated"


async def test_a_source_without_its_seller_sells_nothing(
    alice: Caller, world: World
) -> None:
    force_setattr(world.channels, "seller", None)
    assert (await alice.post("/flow/quote", DIRECT)).status == 400
    assert (await alice.post("/flow/quote", TICKET)).status == 200


async def test_what_was_ordered_is_opened_although_the_list_changed(
    alice: Caller, world: World
) -> None:
    order = await ordered(alice, node=KEY)
    sell(world, Source.POOL)
    world.pay(order)
    await until(alice, order, "filled")
