"""The endpoints beside the contract: the orders, the balance and the ledger."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import force_setattr

from leyden.base.rules.times import to_iso
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import (
    FILLED_FIELDS,
    ORDER_FIELDS,
    PRICE,
    World,
    check_fields,
    ordered,
    status_of,
    until,
)
from tests.conftest import NOW


async def test_the_orders_come_newest_first_in_pages(
    alice: Caller, bob: Caller, charlie: Caller, world: World
) -> None:
    made = []
    for _ in range(5):
        made.append(await ordered(alice))
        world.later(seconds=1)
    await ordered(charlie)
    first = (await bob.get("/flow/orders?limit=2")).json()
    assert first["orders"] == [made[4], made[3]]
    second = (
        await bob.get(f"/flow/orders?limit=2&cursor={first['next_cursor']}")
    ).json()
    assert second["orders"] == [made[2], made[1]]
    last = (await bob.get(f"/flow/orders?cursor={second['next_cursor']}")).json()
    assert last == {"orders": [made[0]], "next_cursor": "", "has_more": False}
    assert first["has_more"]
    assert second["has_more"]


async def test_an_order_has_an_address(alice: Caller, charlie: Caller) -> None:
    order = await ordered(alice)
    path = f"/flow/orders/{order['order_id']}"
    assert (await alice.get(path)).json() == order
    foreign = await charlie.get(path)
    assert (foreign.status, foreign.body) == (404, b'{"message":"not found"}')


async def test_orders_are_found_by_status_node_and_time(
    alice: Caller, world: World
) -> None:
    made = []
    for _ in range(3):
        made.append(await ordered(alice))
        world.later(minutes=1)
    cancelled = made[1]["order_id"]
    await alice.post("/flow/cancel", {"order_id": cancelled})
    middle = made[1]["creation_date"]
    for query, numbers in {
        "status=cancelled": [1],
        "status=waiting_payment": [2, 0],
        "status=filled": [],
        f"created_after={middle}": [2, 1],
        f"created_before={middle}": [0],
        f"created_after={middle}&status=waiting_payment": [2],
        f"node_id={'0' * 36}N": [],
        "status=waiting_payment&limit=1": [2],
    }.items():
        found = (await alice.get(f"/flow/orders?{query}")).json()
        ids = [each["order_id"] for each in found["orders"]]
        assert ids == [made[each]["order_id"] for each in numbers], query
    assert found["has_more"]
    rest = f"status=waiting_payment&cursor={found['next_cursor']}"
    found = (await alice.get(f"/flow/orders?{rest}")).json()
    assert [each["order_id"] for each in found["orders"]] == [made[0]["order_id"]]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=lost", "status"),
        ("node_id=mine", "node_id"),
        ("created_after=yesterday", "created_after"),
        ("created_before=2026-03-01T12:00:00", "created_before"),
        ("cursor=x", "cursor"),
        ("colour=red", "colour"),
    ],
)
async def test_an_unknown_filter_is_named(
    alice: Caller, query: str, field: str
) -> None:
    answer = await alice.get(f"/flow/orders?{query}")
    assert answer.status == 400
    assert answer.json()["field"] == field
    assert answer.json()["code"] == answer.headers["error-code"] == "invalid_request"


@pytest.mark.parametrize(
    "query",
    [
        *("cursor=x", "cursor=%00", "cursor=MTI", "limit=0", "limit=101", "a=1"),
        # "1 a\\0b", which no text in PostgreSQL holds; "1_0 x"; the year 10000
        *("cursor=MSBhAGI", "cursor=MV8wIHg", "cursor=MjUzNDAyMzAwODAwMDAwMDAwIHg"),
        *("limit=1e1", "limit=10.0", "limit=%2010", "limit=0x10", "limit=1_0"),
    ],
)
async def test_a_wrong_query_is_refused(alice: Caller, query: str) -> None:
    assert (await alice.get(f"/flow/orders?{query}")).status == 400


@pytest.mark.parametrize("path", ["/flow/orders", "/flow/balance", "/flow/ledger"])
async def test_without_a_key_nothing_is_told(nobody: Caller, path: str) -> None:
    assert (await nobody.get(path)).status == 401


async def test_the_ledger_tells_where_the_money_went(
    alice: Caller, charlie: Caller, world: World
) -> None:
    await world.give_credit(alice, 700)
    order = await ordered(alice)
    world.pay(order)
    await until(alice, order, "created")
    await alice.post("/flow/cancel", {"order_id": order["order_id"]})
    entries = (await alice.get("/flow/ledger")).json()["entries"]
    shown = [
        (each["what"], each["source"], each["target"], each["amount"])
        for each in reversed(entries)
    ]
    assert shown == [
        ("coupon", "outside", "credit", 700),
        ("credit_used", "credit", "held", 700),
        ("payment", "outside", "held", PRICE - 700),
        ("released", "held", "credit", PRICE),
    ]
    assert entries[0]["order_id"] == order["order_id"]
    assert (await alice.get("/flow/balance")).json() == {
        "balance": PRICE,
        "credit": PRICE,
    }
    assert (await charlie.get("/flow/ledger")).json() == {
        "entries": [],
        "next_cursor": 0,
        "has_more": False,
    }


async def filled(caller: Caller, world: World, *, unused: int) -> dict[str, Any]:
    """Order a channel, pay for it, and have it filled for less than it may cost."""
    order = await ordered(caller)
    world.pay(order)
    ticket = (await until(caller, order, "created"))["sidecar_ticket"]
    assert world.market.register(ticket)
    assert world.market.match(ticket, unused=unused)
    await world.follow_tickets()
    return await until(caller, order, "filled")


async def test_a_filled_order_names_its_channel_and_when_its_lease_ends(
    alice: Caller, world: World
) -> None:
    waiting = await ordered(alice)
    order = await filled(alice, world, unused=318)
    (lease,) = (
        await world.channels.database.reader.leases.of_orders([order["order_id"]])
    ).values()
    expected = {name: order[name] for name in order if name not in ORDER_FIELDS}
    assert expected == {
        "channel_point": lease.channel_point,
        "node": lease.node,
        "peer": lease.peer,
        "lease_ends": to_iso(NOW + timedelta(days=14)),
        "lease_ends_block": lease.height + 2_016,
        "unused_fee": 318,
    }
    assert "" not in expected.values()
    listed = (await alice.get("/flow/orders")).json()["orders"]
    assert sorted(map(len, listed)) == sorted(map(len, (order, waiting)))
    assert order in listed
    check_fields(waiting, ORDER_FIELDS)


async def test_a_customer_sees_their_own_side_of_the_ledger_alone(
    alice: Caller, world: World
) -> None:
    order = await filled(alice, world, unused=318)
    check_fields(order, FILLED_FIELDS)
    entries = (await alice.get("/flow/ledger")).json()["entries"]
    shown = {
        each["what"]: (each["source"], each["target"], each["amount"])
        for each in entries
    }
    assert shown == {
        "payment": ("outside", "held", PRICE),
        "unused_fee": ("held", "credit", 318),
        "filled": ("held", "outside", PRICE - 318),
    }
    assert {each["order_id"] for each in entries} == {order["order_id"]}
    sheet = (await alice.get("/flow/ledger?format=csv")).body.decode().splitlines()
    assert len(sheet) == 1 + len(entries)


async def test_a_page_of_the_ledger_never_divides_what_a_channel_cost(
    alice: Caller, world: World
) -> None:
    await filled(alice, world, unused=0)
    body = (await alice.get("/flow/ledger")).json()["entries"]
    cursor = 0
    found: list[dict[str, Any]] = []
    while not found or cursor:
        page = (await alice.get(f"/flow/ledger?limit=1&cursor={cursor}")).json()
        found += page["entries"]
        cursor = page["next_cursor"]
    assert found == body
    assert [each["amount"] for each in found] == [PRICE, PRICE]


async def test_what_the_auction_took_beyond_the_price_is_not_the_customers(
    alice: Caller, world: World
) -> None:
    await filled(alice, world, unused=-PRICE)
    entries = (await alice.get("/flow/ledger")).json()["entries"]
    assert [(each["what"], each["amount"]) for each in entries] == [
        ("filled", PRICE),
        ("payment", PRICE),
    ]


async def test_the_ledger_comes_in_pages(alice: Caller, world: World) -> None:
    for amount in range(1, 6):
        await world.give_credit(alice, amount)
    first = (await alice.get("/flow/ledger?limit=3")).json()
    assert [each["amount"] for each in first["entries"]] == [5, 4, 3]
    rest = (await alice.get(f"/flow/ledger?cursor={first['next_cursor']}")).json()
    assert [each["amount"] for each in rest["entries"]] == [2, 1]
    assert rest["next_cursor"] == 0


async def test_where_nothing_is_sold_it_says_so(alice: Caller) -> None:
    force_setattr(alice.api._platform, "channels", None)
    answer = await alice.post("/flow/quote", {"capacity": 100_000})
    assert answer.status == 503
    assert answer.json()["message"] == "this platform sells no channels"


async def test_an_order_is_told_as_it_stands(alice: Caller) -> None:
    order = await ordered(alice)
    (listed,) = (await alice.get("/flow/orders")).json()["orders"]
    assert listed == await status_of(alice, order)
