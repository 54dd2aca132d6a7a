import asyncio

import pytest
from msgspec.structs import force_setattr

from leyden.app.serving.api import Api
from leyden.base.rules.units import Sats
from leyden.channels.rules.pricing import Terms
from leyden.values import replace
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import (
    ORDER_FIELDS,
    PRICE,
    World,
    check_fields,
    ordered,
    refused,
)


async def test_it_works(alice: Caller, million: dict[str, int]) -> None:
    answer = await alice.post("/flow/quote", million)
    assert answer.status == 200
    assert answer.json() == {
        "service_fee": 2_000,
        "pool_fee": 14_163,
        "self_chan_balance_fee": 0,
        "total_fee": PRICE,
        "amount_due": PRICE,
        "capacity": 1_000_000,
        "self_chan_balance": 0,
        "lease_duration_blocks": 2016,
        "rate_fixed": 2480,
        "rate_bps": 50,
        "credit_used": 0,
        "source": "pool",
    }


async def test_every_wish_is_priced(alice: Caller) -> None:
    wish = {
        "capacity": 300_000,
        "self_chan_balance": 50_000,
        "lease_duration_blocks": 4032,
        "node_tier": "any",
        "bps": 75,
    }
    found = (await alice.post("/flow/quote", wish)).json()
    assert found["pool_fee"] == 2_249 + 1 + 300 + 8_163
    assert found["service_fee"] == 1_300
    assert found["self_chan_balance_fee"] == 50_100
    assert found["total_fee"] == 62_113
    assert (found["rate_bps"], found["rate_fixed"]) == (75, 1860)


async def test_bob_and_charlie_get_their_own(
    bob: Caller, charlie: Caller, million: dict[str, int]
) -> None:
    assert (await bob.post("/flow/quote", million)).status == 200
    assert (await charlie.post("/flow/quote", million)).status == 200


async def test_without_a_key_nothing_is_priced(
    nobody: Caller, million: dict[str, int]
) -> None:
    assert (await nobody.post("/flow/quote", million)).status == 401


async def test_credit_is_taken_off(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    await world.give_credit(alice, 6_163)
    found = (await alice.post("/flow/quote", million)).json()
    assert (found["credit_used"], found["amount_due"]) == (6_163, 10_000)
    await world.give_credit(alice, 50_000)
    found = (await alice.post("/flow/quote", million)).json()
    assert (found["credit_used"], found["amount_due"]) == (PRICE, 0)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("{}", "capacity"),
        ('{"capacity": null}', "capacity"),
        ('{"capacity": true}', "capacity"),
        ('{"capacity": "1000000"}', "capacity"),
        ('{"capacity": 1000000.0}', "capacity"),
        ('{"capacity": 1e6}', "capacity"),
        ('{"capacity": 0}', "capacity"),
        ('{"capacity": -100000}', "capacity"),
        ('{"capacity": 100001}', "capacity"),
        ('{"capacity": 16800000}', "capacity"),
        ('{"capacity": 10000000000000000}', "capacity"),
        ('{"capacity": [1000000]}', "capacity"),
        ('{"capacity": 1000000, "capacity": 100000}', "body"),
        ('{"capacity": 1000000, "total_fee": 1}', "total_fee"),
        ('{"capacity": 1000000, "amount_due": 0}', "amount_due"),
        ('{"capacity": 1000000, "credit_used": 99}', "credit_used"),
        ('{"capacity": 1000000, "self_chan_balance": -1}', "self_chan_balance"),
        ('{"capacity": 1000000, "self_chan_balance": 1000001}', "self_chan_balance"),
        ('{"capacity": 1000000, "self_chan_balance": false}', "self_chan_balance"),
        ('{"capacity": 1000000, "lease_duration_blocks": 2015}', "lease_duration"),
        ('{"capacity": 1000000, "lease_duration_blocks": "2016"}', "lease_duration"),
        ('{"capacity": 1000000, "node_tier": "worst"}', "node_tier"),
        ('{"capacity": 1000000, "node_tier": null}', "node_tier"),
        ('{"capacity": 1000000, "bps": 0}', "bps"),
        ('{"capacity": 1000000, "bps": null}', "bps"),
        ('{"capacity": 1000000, "bps": -1}', "bps"),
        ('{"capacity": 1000000, "bps": 10001}', "bps"),
        ('{"capacity": 1000000, "bps": 0.5}', "bps"),
        ("[]", ""),
        ("1000000", ""),
        ("", ""),
        ('{"capacity": 1000000', ""),
    ],
)
@pytest.mark.parametrize("path", ["/flow/quote", "/flow/create"])
async def test_a_wrong_wish_is_refused_by_name(
    api: Api, alice: Caller, path: str, body: str, word: str
) -> None:
    assert word in await refused(api, alice, path, body.encode() or b" ")
    assert (await alice.get("/flow/orders")).json()["orders"] == []


async def test_a_rate_of_nothing_is_not_the_going_rate(
    alice: Caller, million: dict[str, int]
) -> None:
    assert (await alice.post("/flow/quote", million)).status == 200
    for path in ("/flow/create", "/flow/quote"):
        answer = await alice.post(path, {**million, "bps": 0})
        assert (answer.status, "bps" in answer.json()["message"]) == (400, True)


def dearer(world: World) -> None:
    terms = replace(Terms(), service_fee_base=Sats(99_000))
    force_setattr(world.channels, "rules", replace(world.channels.rules, terms=terms))


async def test_a_quote_holds_for_ten_minutes_for_whoever_got_it(
    alice: Caller, charlie: Caller, world: World, million: dict[str, int]
) -> None:
    await alice.post("/flow/quote", million)
    dearer(world)
    world.later(minutes=9, seconds=59)
    assert (await ordered(alice))["total_fee"] == PRICE
    assert (await ordered(charlie))["total_fee"] == PRICE + 98_000
    assert (await ordered(alice, bps=51))["total_fee"] > PRICE + 98_000


async def test_a_platform_that_keeps_unused_fees_says_so_with_the_price(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    usual = (await alice.post("/flow/quote", million)).json()
    terms = replace(Terms(), keeps_unused_fee=True)
    force_setattr(world.channels, "rules", replace(world.channels.rules, terms=terms))
    body = (await alice.post("/flow/quote", {**million, "bps": 50})).json()
    assert body == {**usual, "unused_pool_fee": "kept"}
    check_fields(await ordered(alice, bps=50), ORDER_FIELDS)


async def test_after_that_it_is_worth_nothing(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    await alice.post("/flow/quote", million)
    dearer(world)
    world.later(minutes=12)
    assert (await ordered(alice))["total_fee"] == PRICE + 98_000


async def test_asking_again_holds_from_then_on(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    await alice.post("/flow/quote", million)
    world.later(minutes=8)
    await alice.post("/flow/quote", million)
    dearer(world)
    world.later(minutes=9)
    assert (await ordered(alice))["total_fee"] == PRICE


async def test_the_newest_quote_is_the_one_that_holds(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    await alice.post("/flow/quote", million)
    dearer(world)
    newest = (await alice.post("/flow/quote", million)).json()
    assert newest["total_fee"] == PRICE + 98_000
    assert (await ordered(alice))["total_fee"] == PRICE + 98_000


async def test_fifty_quotes_at_once_are_the_same(
    alice: Caller, million: dict[str, int]
) -> None:
    answers = await asyncio.gather(
        *(alice.post("/flow/quote", million) for _ in range(50))
    )
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1


async def test_asked_again_it_is_what_it_would_be_now(
    alice: Caller, charlie: Caller, world: World, million: dict[str, int]
) -> None:
    async def shown(caller: Caller) -> tuple[int, int]:
        (found,) = {
            (each["total_fee"], each["credit_used"])
            for each in [
                (await caller.post("/flow/quote", million)).json() for _ in range(3)
            ]
        }
        return found

    assert await shown(alice) == (PRICE, 0)
    await world.give_credit(alice, 6_163)
    assert await shown(alice) == (PRICE, 6_163)
    assert await shown(charlie) == (PRICE, 0)
    world.market.auction = replace(world.market.auction, execution_fee_base=Sats(1_001))
    assert await shown(alice) == (PRICE + 1_000, 6_163)


async def test_asked_again_after_a_while_it_holds_from_then_on(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    for _ in range(3):
        await alice.post("/flow/quote", million)
    world.later(minutes=2)
    await alice.post("/flow/quote", million)
    dearer(world)
    world.later(minutes=10, seconds=30)
    assert (await ordered(alice))["total_fee"] == PRICE


async def test_while_the_auction_is_away_there_is_no_price(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    for _ in range(3):
        assert (await alice.post("/flow/quote", million)).status == 200
    world.market.away = True
    answer = await alice.post("/flow/quote", million)
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) > 0
