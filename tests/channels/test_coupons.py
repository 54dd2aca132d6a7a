"""Coupons are issued as they were asked for, and what is guessed is slowed down."""

from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from leyden.base.rules.accounts import Membership, Person, Role
from leyden.base.rules.units import MAX_SATS, Sats
from leyden.channels.money import credit
from leyden.channels.money.rules.coupons import Coupon
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.errors import Malformed, NotFound, RightsChanged, TooMany
from tests.channels.orders_harness import HARBOUR, LIGHTHOUSE, OrdersHarness
from tests.conftest import NOW

ALICE = "operator:alice"
NOBODY = "user:who was removed"
WRONG = "0a1b2c3d-0000-4000-8000-000000000000FC"


async def issue(harness: OrdersHarness, **request: Any) -> list[Coupon]:
    usual: dict[str, Any] = {
        "sats": 21_000,
        "count": 1,
        "organization_id": None,
        "expires": None,
        "note": "",
        "actor": ALICE,
    }
    return await credit.issue_coupons(
        harness.database, **usual | request, now=harness.now
    )


async def redeem(
    harness: OrdersHarness, coupon_id: str, **more: Any
) -> tuple[Sats, Sats]:
    usual: dict[str, Any] = {"actor": ALICE, "now": harness.now}
    return await credit.redeem(harness.database, HARBOUR, coupon_id, **usual | more)


async def test_they_are_as_they_were_asked_for_and_it_is_known_who_asked(
    harness: OrdersHarness,
) -> None:
    expires = harness.now + timedelta(seconds=1)
    issuance: dict[str, Any] = {
        "organization_id": HARBOUR,
        "expires": expires,
        "note": "for the storm",
    }
    issued = await issue(harness, count=2, **issuance)
    assert len({each.id for each in issued}) == 2
    for each in issued:
        assert each == Coupon(
            id=each.id, sats=Sats(21_000), created=harness.now, **issuance
        )
    found = await credit.coupons(harness.database, HARBOUR)
    assert sorted(found, key=lambda each: each.id) == sorted(
        issued, key=lambda each: each.id
    )
    harness.now += timedelta(seconds=1)
    await issue(harness)
    anyones, harbours = await harness.database.reader.audit.latest(limit=2)
    assert (harbours.at, harbours.actor) == (NOW, ALICE)
    assert harbours.action == anyones.action == "coupons issued"
    assert (harbours.subject, harbours.organization_id) == (HARBOUR, HARBOUR)
    assert (anyones.subject, anyones.organization_id) == ("anyone", None)
    assert harbours.detail == {"sats": 21_000, "count": 2, "note": "for the storm"}


@pytest.mark.parametrize(
    "issuance",
    [
        {"sats": 1},
        {"sats": int(MAX_SATS)},
        {"count": 10_000},
        {"note": "n" * 500},
    ],
)
async def test_the_most_and_the_least_are_issued(
    harness: OrdersHarness, issuance: dict[str, Any]
) -> None:
    assert len(await issue(harness, **issuance)) == issuance.get("count", 1)


@pytest.mark.parametrize(
    ("issuance", "why"),
    [
        ({"sats": 0}, "amount: must be a number"),
        ({"sats": int(MAX_SATS) + 1}, "amount: must be a number"),
        ({"count": 0}, "count: must be from 1 to 10000"),
        ({"count": 10_001}, "count: must be from 1 to 10000"),
        ({"note": "n" * 501}, "note: must have at most 500"),
        ({"expires": NOW}, "expires: must be in the future"),
    ],
)
async def test_what_cannot_be_is_not_issued(
    harness: OrdersHarness, issuance: dict[str, Any], why: str
) -> None:
    with pytest.raises(Malformed, match=why):
        await issue(harness, **issuance)


async def test_neither_for_nobody_nor_by_nobody(harness: OrdersHarness) -> None:
    with pytest.raises(NotFound):
        await issue(harness, organization_id="nobody")
    with pytest.raises(NotFound):
        await issue(harness, actor=NOBODY)


async def test_what_is_redeemed_is_booked_under_the_coupon(
    harness: OrdersHarness,
) -> None:
    (coupon,) = await issue(harness)
    with pytest.raises(RightsChanged):
        await redeem(harness, coupon.id, actor=NOBODY)
    assert await redeem(harness, coupon.id) == (21_000, 21_000)
    written = await harness.database.reader.ledger.find(f"coupon:{coupon.id}")
    assert written is not None
    assert written.at == harness.now
    assert written.entry == Entry(
        key=f"coupon:{coupon.id}",
        what=Reason.COUPON,
        source=ledger.PROMO,
        target=ledger.credit(HARBOUR),
        sats=Sats(21_000),
        organization_id=HARBOUR,
    )


async def test_the_request_that_claimed_a_coupon_is_answered_again(
    harness: OrdersHarness,
) -> None:
    (coupon,) = await issue(harness)
    assert await redeem(harness, coupon.id, request_id="first") == (21_000, 21_000)
    await harness.give_credit(1)
    assert await redeem(harness, coupon.id, request_id="first") == (21_001, 21_000)
    for other in ("second", ""):
        with pytest.raises(NotFound):
            await redeem(harness, coupon.id, request_id=other)
    with pytest.raises(NotFound):
        await credit.redeem(
            harness.database,
            LIGHTHOUSE,
            coupon.id,
            actor=ALICE,
            now=harness.now,
            request_id="first",
        )
    (unnamed,) = await issue(harness)
    await redeem(harness, unnamed.id)
    with pytest.raises(NotFound):
        await redeem(harness, unnamed.id)
    assert await harness.credit() == 42_001


@pytest.mark.parametrize(
    ("role", "may"), [(Role.BILLING, True), (Role.DEVELOPER, False)]
)
async def test_a_person_redeems_who_may_spend(
    harness: OrdersHarness,
    role: Role,
    may: bool,  # noqa: FBT001
) -> None:
    (coupon,) = await issue(harness)
    ada = Person(id="ada", email="ada@example.org", created=harness.now)
    async with harness.database.transaction() as tx:
        await tx.accounts.add_person(ada, password=None)
        await tx.accounts.join(
            Membership(
                organization_id=HARBOUR, user_id=ada.id, role=role, created=harness.now
            )
        )
    with nullcontext() if may else pytest.raises(RightsChanged):
        await redeem(harness, coupon.id, actor="user:ada")
    assert await harness.credit() == (21_000 if may else 0)


async def test_who_guesses_waits_until_an_hour_after_the_first_guess(
    harness: OrdersHarness,
) -> None:
    (coupon,) = await issue(harness)
    for _ in range(credit.GUESSES_PER_HOUR):
        with pytest.raises(NotFound):
            await redeem(harness, WRONG)
    for later, wait in ((600, 3_000), (2_400, 600), (599.5, 1)):
        harness.now += timedelta(seconds=later)
        with pytest.raises(TooMany, match="too many wrong coupons") as refused:
            await redeem(harness, coupon.id)
        assert refused.value.retry_after_s == wait
    harness.now += timedelta(seconds=1)
    assert await redeem(harness, coupon.id) == (21_000, 21_000)


async def test_one_guess_less_is_allowed(harness: OrdersHarness) -> None:
    (coupon,) = await issue(harness)
    for _ in range(2):
        with pytest.raises(NotFound):
            await redeem(harness, WRONG, guesses=3)
    assert await redeem(harness, coupon.id, guesses=3) == (21_000, 21_000)
