"""What wallets are offered over LSPS2, and what they can't get by asking."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import force_setattr

from leyden.channels.direct.jit import offers
from leyden.channels.direct.rules.jit import JitStatus, may_be_ours, scid_of
from leyden.channels.rules.sources import Source
from tests.channels.jit_harness import FEE, HASH, OTHER, PEER, SIZE, JitHarness
from tests.channels.orders_harness import OrdersHarness
from tests.waiting import until

HUGE = str(2**64 - 1)


@pytest.fixture
async def jit(harness: OrdersHarness) -> AsyncIterator[JitHarness]:
    made = JitHarness(harness)
    async with made.serving():
        yield made
    await made.prove()


async def sold(jit: JitHarness) -> int:
    return len(await jit.orders.database.reader.jit_orders.in_states([JitStatus.SOLD]))


async def test_protocols_and_menu_are_as_the_specification_has_them(
    jit: JitHarness,
) -> None:
    assert (await jit.call("lsps0.list_protocols"))["result"] == {"protocols": [2]}
    offer = await jit.offer()
    assert len(offer.pop("promise")) == 64
    assert offer == {
        "min_fee_msat": str(FEE),
        "proportional": 10_000,
        "valid_until": "2026-03-01T14:00:00.000Z",
        "min_lifetime": 4_320,
        "max_client_to_self_delay": 2_016,
        "min_payment_size_msat": "20000000",
        "max_payment_size_msat": "1000000000",
    }


async def test_an_offer_that_is_bought_is_an_unguessable_channel_id(
    jit: JitHarness,
) -> None:
    offer = await jit.offer()
    answer = (await jit.buy(offer))["result"]
    assert (answer["lsp_cltv_expiry_delta"], answer["client_trusts_lsp"]) == (
        144,
        False,
    )
    again = (await jit.buy(offer))["result"]["jit_channel_scid"]
    assert again != answer["jit_channel_scid"]
    assert may_be_ours(scid_of(again))
    order = await jit.order(scid_of(again))
    assert (order.peer, order.size_msat, order.fee_msat) == (PEER, SIZE, FEE)


async def test_a_promise_is_the_peers_own(jit: JitHarness) -> None:
    offer = await jit.offer()
    assert (await jit.buy(offer, OTHER))["error"]["code"] == 201
    assert await sold(jit) == 0


@pytest.mark.parametrize(
    "forged",
    [
        {"min_fee_msat": "1"},
        {"proportional": 0},
        {"valid_until": "2036-03-01T14:00:00.000Z"},
        {"valid_until": "never"},
        {"min_lifetime": 0},
        {"max_client_to_self_delay": 1},
        {"min_payment_size_msat": "0"},
        {"max_payment_size_msat": HUGE},
        {"promise": "0" * 64},
        {"promise": "\u00e4" * 64},
        {"promise": ""},
    ],
)
async def test_a_forged_offer_is_refused(
    jit: JitHarness, forged: dict[str, Any]
) -> None:
    offer = await jit.offer() | forged
    assert (await jit.buy(offer))["error"]["code"] == 201
    assert await sold(jit) == 0


async def test_an_offer_ends_in_time(jit: JitHarness) -> None:
    offer = await jit.offer()
    jit.orders.now += timedelta(hours=2)
    assert (await jit.buy(offer))["error"]["code"] == 201


@pytest.mark.parametrize(
    ("size", "code"),
    [
        (None, -32602),
        (SIZE, -32602),
        ("19999999", 202),
        ("1000000001", 203),
        (HUGE, 203),
        (str(2**64), 203),
        ("9" * 20, 203),
        ("9" * 21, -32602),
    ],
)
async def test_sizes_beyond_what_is_sold_are_refused(
    jit: JitHarness, size: object, code: int
) -> None:
    assert (await jit.buy(await jit.offer(), size=size))["error"]["code"] == code


async def test_tokens_and_unknown_fields_are_refused(jit: JitHarness) -> None:
    for token, code in ((None, 0), ("", 0), ("COUPON", 200), ([1], 200)):
        answer = await jit.call("lsps2.get_info", token=token)
        assert answer.get("error", {"code": 0})["code"] == code
    assert (await jit.call("lsps2.get_info", more=1))["error"]["code"] == -32602
    assert (await jit.call("lsps1.get_info"))["error"]["code"] == -32601


async def test_a_peer_has_few_unpaid_orders_and_a_flood_leaves_nothing(
    jit: JitHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = await jit.offer()
    for _ in range(5):
        assert "result" in await jit.buy(offer)
    assert (await jit.buy(offer))["error"]["code"] == 1
    monkeypatch.setattr(offers, "MOST_SOLD", 6)
    other = await jit.offer(OTHER)
    assert "result" in await jit.buy(other, OTHER)
    assert (await jit.buy(other, OTHER))["error"]["code"] == 1
    assert await sold(jit) == 6
    reader = jit.orders.database.reader
    assert await reader.jit_orders.reserved() == set()
    jit.orders.now += timedelta(hours=2)
    assert await becomes_empty(jit, JitStatus.SOLD)
    jit.orders.now += timedelta(days=1)
    assert await becomes_empty(jit, JitStatus.EXPIRED)


async def becomes_empty(jit: JitHarness, status: JitStatus) -> bool:
    reader = jit.orders.database.reader.jit_orders

    async def is_empty() -> bool:
        return not await reader.in_states([status])

    await until(is_empty, within_s=20)
    return True


async def test_nothing_is_sold_that_could_not_be_opened(
    jit: JitHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offers, "_FRESH_S", 0)
    offer = await jit.offer()
    jit.purse.coins.clear()
    assert (await jit.buy(offer))["error"]["code"] == 1
    jit.purse.fee_sat_per_vb = 101
    assert (await jit.call("lsps2.get_info"))["error"]["code"] == 1
    jit.purse.fee_sat_per_vb = 10
    jit.purse.own_features = frozenset()
    assert (await jit.call("lsps2.get_info"))["error"]["code"] == 1


async def test_what_is_not_listed_is_not_sold_and_what_was_sold_is_served(
    jit: JitHarness,
) -> None:
    offer = await jit.offer()
    scid = await jit.bought()
    rules = jit.serving_channels.rules
    force_setattr(rules, "sources", (Source.OWN,))
    for refused in (await jit.call("lsps2.get_info"), await jit.buy(offer)):
        assert refused["error"]["code"] == 1
        assert "no just-in-time channels are sold now" in str(refused["error"])
    jit.forwarding.pay(scid, HASH, SIZE)
    await jit.becomes(scid, JitStatus.EARNED)
