"""Orders that name the node, over the API."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import force_setattr

from leyden.app.serving.api import Api
from leyden.channels.direct.rows.seller import KnownSeller
from leyden.values import replace
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import (
    ORDER_FIELDS,
    World,
    ordered,
    refused,
    until,
)

KEY = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
OTHER = "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
PRICE = 18_999
DIRECT_FIELDS = {
    **ORDER_FIELDS,
    "node": str,
    "announce": bool,
    "zero_conf": bool,
    "seller_uri": str,
}
_AT_THE_END = ("channel_point", "peer", "lease_ends", "lease_ends_block", "unused_fee")


@pytest.fixture(autouse=True)
def coins(world: World) -> None:
    world.seller.fill([3_000_000] * 3)
    world.seller.online.add(KEY)


async def test_the_quote_says_from_where(alice: Caller) -> None:
    wish = {"capacity": 1_000_000, "node": KEY}
    answer = await alice.post("/flow/quote", wish)
    assert answer.status == 200, answer.body
    found = answer.json()
    assert found["source"] == "own"
    assert found["total_fee"] == PRICE
    without = (await alice.post("/flow/quote", {"capacity": 1_000_000})).json()
    assert without["source"] == "pool"


async def test_a_channel_for_a_node_without_a_ticket(
    alice: Caller, world: World
) -> None:
    order = await ordered(alice, node=f"{KEY}@8.8.8.8:9735", announce=True)
    fields = {name: type(value) for name, value in order.items()}
    assert fields == DIRECT_FIELDS
    assert order["node"] == KEY
    assert order["seller_uri"] == f"{world.seller.pubkey}@seller.example:9735"
    world.pay(order)
    found = await until(alice, order, "filled")
    assert set(found) == {*DIRECT_FIELDS, *_AT_THE_END}
    assert found["sidecar_ticket"] == ""
    (opened,) = world.seller.opened_for(order["order_id"])
    assert opened.wanted.announce
    assert found["channel_point"] == opened.point
    assert found["peer"] == world.seller.pubkey
    listed = (await alice.get("/flow/orders")).json()["orders"]
    assert [each["seller_uri"] for each in listed] == [order["seller_uri"]]


async def test_a_node_that_is_away_is_told_where_to_connect(
    alice: Caller, world: World
) -> None:
    world.seller.online.clear()
    order = await ordered(alice, node=KEY)
    world.pay(order)
    found = await until(alice, order, "created")
    assert found["seller_uri"]
    assert (found["paid"], found["sidecar_ticket"]) == (True, "")
    cancelled = await alice.post("/flow/cancel", {"order_id": order["order_id"]})
    assert cancelled.status == 200
    assert cancelled.json()["status"] == "cancelled"


async def test_what_is_being_opened_cannot_be_cancelled(
    alice: Caller, world: World
) -> None:
    world.seller.freezes = True
    order = await ordered(alice, node=KEY)
    world.pay(order)
    await until(alice, order, "submitted")
    answer = await alice.post("/flow/cancel", {"order_id": order["order_id"]})
    assert answer.status == 409


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"node": "02" + "00" * 32}, "node"),
        ({"node": f"02{5:064x}"}, "node"),
        ({"node": KEY + "@127.0.0.1:9735"}, "node"),
        ({"node": KEY + "@169.254.169.254:80"}, "node"),
        ({"node": KEY + "@localhost:9735"}, "node"),
        ({"node": KEY + "@0x7f000001:9735"}, "node"),
        ({"node": KEY + "@[::1]:9735"}, "node"),
        ({"node": KEY + "@ho\nst:9735"}, "node"),
        ({"node": "x" * 400}, "node"),
        ({"node": "x" * 401}, "node"),
        ({"node": 7}, "node"),
        ({"node": KEY, "zero_conf": True, "announce": True}, "zero_conf"),
        ({"node": KEY, "zero_conf": 1}, "zero_conf"),
        ({"node": KEY, "self_chan_balance": 1}, "self_chan_balance"),
        ({"node": KEY, "bps": 50}, "bps"),
        ({"node": KEY, "node_tier": "any"}, "node_tier"),
        ({"node": KEY, "announce": "yes"}, "announce"),
        ({"node": KEY, "capacity": 150_000}, "capacity"),
        ({"announce": True}, "announce"),
        ({"zero_conf": True}, "zero_conf"),
        ({"node": KEY, "total_fee": 1}, "total_fee"),
        ({"node": KEY, "channel_point": "ab:0"}, "channel_point"),
        ({"node": KEY, "pool_fee": 0}, "pool_fee"),
    ],
)
async def test_what_is_not_sold_is_refused_with_its_field(
    alice: Caller, world: World, wish: dict[str, Any], field: str
) -> None:
    for path in ("/flow/quote", "/flow/create"):
        answer = await alice.post(path, {"capacity": 1_000_000, **wish})
        assert answer.status == 400, answer.body
        assert field in answer.json()["message"]
    assert world.seller.channels == {}
    assert await world.channels.database.reader.reserved_coins.all_() == set()


async def test_nodes_of_the_platform_itself_get_no_channel(
    alice: Caller, world: World
) -> None:
    async with world.channels.database.transaction() as tx:
        await tx.treasury.add(KEY)
        await tx.treasury.replace(KEY)
        await tx.seller.add(KnownSeller(OTHER, OTHER))
    for key in (KEY, OTHER):
        answer = await alice.post("/flow/quote", {"capacity": 1_000_000, "node": key})
        assert answer.status == 400
        assert "platform itself" in answer.json()["message"]


async def test_a_node_of_somebody_else_is_not_found(alice: Caller) -> None:
    for node_id in ("5f0c9d8e-2f4b-4b57-9a53-0d6f0e2a7c11N", "x", "\x00"):
        wish = {"capacity": 1_000_000, "node_id": node_id, "node": KEY}
        assert (await alice.post("/flow/create", wish)).status in {400, 404}


async def test_nodes_that_the_settings_name_get_no_channel_either(
    alice: Caller, world: World
) -> None:
    """Neither was ever seen."""
    rules = replace(world.channels.rules, treasury=KEY, seller=OTHER)
    force_setattr(world.channels, "rules", rules)
    for key in (KEY, OTHER, OTHER.upper(), f"{OTHER}@8.8.8.8:9735"):
        for path in ("/flow/quote", "/flow/create"):
            answer = await alice.post(path, {"capacity": 1_000_000, "node": key})
            assert answer.status == 400
            assert "platform itself" in answer.json()["message"]


@pytest.mark.timeout(240)
async def test_a_thousand_orders_for_one_node_are_one(
    alice: Caller, world: World
) -> None:
    """Twenty at a time: each looks before the first one is there."""
    wish = {"capacity": 1_000_000, "node": KEY}
    placed = 0
    for _ in range(50):
        found = await asyncio.gather(
            *(alice.post("/flow/create", wish) for _ in range(20))
        )
        for answer in found:
            placed += answer.status == 200
            assert answer.status in {200, 409}, answer.body
            if answer.status == 409:
                assert "another open order" in answer.json()["message"]
    assert placed == 1
    assert len((await alice.get("/flow/orders")).json()["orders"]) == 1
    assert len(await world.channels.database.reader.reserved_coins.all_()) == 1
    open_invoices = [x for x in world.payments.invoices.values() if x.state == "open"]
    # Those of the first twenty, which nobody was shown: quotas bound how many.
    assert len(open_invoices) <= 20


async def test_an_empty_wallet_sells_nothing(alice: Caller, world: World) -> None:
    world.seller.coins.clear()
    answer = await alice.post("/flow/create", {"capacity": 1_000_000, "node": KEY})
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) > 0


async def test_a_seller_that_is_away_promises_nothing(
    alice: Caller, world: World
) -> None:
    world.seller.away = True
    wish = {"capacity": 1_000_000, "node": KEY}
    assert (await alice.post("/flow/quote", wish)).status == 200
    answer = await alice.post("/flow/create", wish)
    assert answer.status == 503
    assert "seller" in answer.json()["message"]


async def test_a_json_that_is_none_is_refused(api: Api, alice: Caller) -> None:
    for body in (b"[]", b'{"node": ', b'{"capacity": 1000000, "node": null}'):
        await refused(api, alice, "/flow/create", body)
