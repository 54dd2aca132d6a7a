import asyncio
import re

import pytest

from leyden.app.serving.api import Api
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import World, refused

_COUPON_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}FC")


async def test_the_list_shows_used_and_unused(alice: Caller, world: World) -> None:
    assert (await alice.get("/flow/coupons")).json() == {"coupons": []}
    unused = await world.coupon(21_000, alice.organization_id)
    used = await world.coupon(42_000, None)
    assert (await alice.get("/flow/coupons")).json() == {
        "coupons": [{"amount": 21_000, "order_id": unused, "claimed": False}]
    }
    await alice.post("/flow/redeem", {"coupon": used})
    found = (await alice.get("/flow/coupons")).json()["coupons"]
    assert sorted(found, key=lambda each: each["amount"]) == [
        {"amount": 21_000, "order_id": unused, "claimed": False},
        {"amount": 42_000, "order_id": used, "claimed": True},
    ]
    assert _COUPON_ID.fullmatch(unused)


async def test_redeeming_works_once(alice: Caller, world: World) -> None:
    for amount, credit in ((21_000, 21_000), (42_000, 63_000)):
        coupon = await world.coupon(amount, alice.organization_id)
        answer = await alice.post("/flow/redeem", {"coupon": coupon})
        assert answer.status == 200
        assert answer.json() == {
            "coupon": coupon,
            "credit": credit,
            "coupon_amount": amount,
        }
        assert (await alice.post("/flow/redeem", {"coupon": coupon})).status == 404


async def test_bob_sees_the_same_and_charlie_nothing(
    alice: Caller, bob: Caller, charlie: Caller, world: World
) -> None:
    coupon = await world.coupon(21_000, alice.organization_id)
    assert len((await bob.get("/flow/coupons")).json()["coupons"]) == 1
    assert (await charlie.get("/flow/coupons")).json() == {"coupons": []}
    assert (await charlie.post("/flow/redeem", {"coupon": coupon})).status == 404
    assert (await bob.post("/flow/redeem", {"coupon": coupon})).status == 200


async def test_without_a_key_nothing_is_redeemed(nobody: Caller, world: World) -> None:
    coupon = await world.coupon(21_000, None)
    assert (await nobody.get("/flow/coupons")).status == 401
    assert (await nobody.post("/flow/redeem", {"coupon": coupon})).status == 401


async def test_wrong_foreign_and_claimed_coupons_look_the_same(
    alice: Caller, charlie: Caller, world: World
) -> None:
    foreign = await world.coupon(21_000, alice.organization_id)
    claimed = await world.coupon(21_000, None)
    await alice.post("/flow/redeem", {"coupon": claimed})
    wrong = "0a1b2c3d-0000-4000-8000-000000000000FC"
    answers = [
        await charlie.post("/flow/redeem", {"coupon": coupon})
        for coupon in (foreign, claimed, wrong, "x", "")
    ]
    assert {answer.status for answer in answers} == {404}
    assert {answer.body for answer in answers} == {b'{"message":"not found"}'}


async def test_fifty_at_once_claim_it_once(
    alice: Caller, charlie: Caller, world: World
) -> None:
    coupon = await world.coupon(21_000, None)
    answers = await asyncio.gather(
        *(
            (alice, charlie)[number % 2].post("/flow/redeem", {"coupon": coupon})
            for number in range(38)
        )
    )
    statuses = sorted(answer.status for answer in answers)
    assert statuses == [200] + [404] * 37
    found = [
        (await caller.get("/flow/balance")).json()["credit"]
        for caller in (alice, charlie)
    ]
    assert sorted(found) == [0, 21_000]


async def test_guessing_is_slowed_down(
    alice: Caller, charlie: Caller, world: World
) -> None:
    coupon = await world.coupon(21_000, None)
    for number in range(20):
        guess = f"0a1b2c3d-0000-4000-8000-{number:012d}FC"
        assert (await charlie.post("/flow/redeem", {"coupon": guess})).status == 404
    limited = await charlie.post("/flow/redeem", {"coupon": coupon})
    assert limited.status == 429
    assert 0 < int(limited.headers["retry-after"]) <= 3600
    assert (await alice.post("/flow/redeem", {"coupon": coupon})).status == 200
    another = await world.coupon(21_000, None)
    world.later(minutes=61)
    assert (await charlie.post("/flow/redeem", {"coupon": another})).status == 200


@pytest.mark.parametrize(
    "body", [b"{}", b'{"coupon": 1}', b'{"coupon": null}', b'{"coupon": "x", "a": 1}']
)
async def test_a_wrong_body_is_refused(api: Api, alice: Caller, body: bytes) -> None:
    await refused(api, alice, "/flow/redeem", body)
