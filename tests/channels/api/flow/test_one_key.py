"""One Idempotency-Key, and those who ask under it at once, or after one has died."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from leyden.app.serving import idempotency
from leyden.app.serving.idempotency import Answer
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Principal
from leyden.errors import Conflict, Malformed
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import World
from tests.conftest import NOW

KEY, REQUEST = b"harbour-light-1", b"an order"
MADE: Answer = (200, b"made")


async def made() -> Answer:
    return MADE


async def never() -> Answer:
    raise AssertionError("it was made before")


async def ask(
    platform: Platform,
    of: Caller,
    *,
    request: bytes = REQUEST,
    later: timedelta = timedelta(0),
    run: Callable[[], Awaitable[Answer]] = made,
) -> Answer:
    principal = Principal(of.organization_id, "a key", frozenset())
    return await idempotency.answer_once(
        platform, principal, KEY, request, now=NOW + later, run=run
    )


async def test_fifty_at_once_make_one_order(
    alice: Caller, bob: Caller, world: World, million: dict[str, int]
) -> None:
    answers = await asyncio.gather(
        *(
            (alice, bob)[number % 2].post(
                "/flow/create", million, Idempotency_Key="harbour-light-1"
            )
            for number in range(50)
        )
    )
    counts = Counter(answer.status for answer in answers)
    assert set(counts) <= {200, 409}
    assert counts[200]
    assert len({answer.body for answer in answers if answer.status == 200}) == 1
    assert len(world.payments.requests) == 1
    assert len((await alice.get("/flow/orders")).json()["orders"]) == 1


async def test_while_the_first_is_under_way_the_second_is_told_so(
    platform: Platform, alice: Caller, charlie: Caller
) -> None:
    async def run() -> Answer:
        with pytest.raises(Conflict, match="still in progress") as refused:
            await ask(platform, alice, run=never, later=timedelta(seconds=59))
        assert refused.value.retry_after_s == 5, "who has died is forgotten then"
        assert await ask(platform, charlie) == MADE, "a key is its organization's own"
        return MADE

    assert await ask(platform, alice, run=run) == MADE
    assert await ask(platform, alice, run=never) == MADE
    with pytest.raises(Malformed, match="a different request"):
        await ask(platform, alice, request=b"another", run=never)


async def test_who_died_after_it_redeemed_a_coupon_leaves_the_answer_to_the_next(
    platform: Platform, alice: Caller, bob: Caller, charlie: Caller, world: World
) -> None:
    body, key = {"coupon": await world.coupon(21_000, None)}, KEY.decode()
    first = await alice.post("/flow/redeem", body, Idempotency_Key=key)
    under = platform.sealer.digest(KEY, purpose="saved answer")
    sent = json.dumps(body).encode()
    async with platform.database.transaction() as tx:
        await tx.answers.drop(alice.organization_id, under, holder=idempotency.HOLDER)
        await tx.answers.claim(
            alice.organization_id,
            under,
            request=idempotency.digest_request("POST /flow/redeem", sent),
            now=NOW,
            expires=NOW + timedelta(days=1),
            holder="another process",
        )
    world.later(seconds=16)
    for caller, under_key in (
        (alice, {"Idempotency_Key": "harbour-light-2"}),
        (alice, {}),
        (charlie, {"Idempotency_Key": key}),
    ):
        other = await caller.post("/flow/redeem", body, **under_key)
        assert (other.status, other.body) == (404, b'{"message":"not found"}')
    again = await bob.post("/flow/redeem", body, Idempotency_Key=key)
    assert (first.status, again.status, again.body) == (200, 200, first.body)
    assert (await alice.get("/flow/balance")).json()["credit"] == 21_000


async def test_whoever_is_silent_for_seconds_has_died_and_says_nothing_any_more(
    platform: Platform, alice: Caller
) -> None:
    under = platform.sealer.digest(KEY, purpose="saved answer")
    database, of, dead = platform.database, alice.organization_id, "another process"
    async with database.transaction() as tx:
        await tx.answers.claim(
            of,
            under,
            request=REQUEST,
            now=NOW,
            expires=NOW + timedelta(days=1),
            holder=dead,
        )
    if not database.is_alone:
        with pytest.raises(Conflict, match="still in progress"):
            await ask(platform, alice, run=never, later=timedelta(seconds=14))
    assert await ask(platform, alice, later=timedelta(seconds=16)) == MADE
    async with database.transaction() as tx:  # it wakes up
        await tx.answers.save(of, under, holder=dead, status=200, body=b"late")
        await tx.answers.drop(of, under, holder=dead)
    assert await ask(platform, alice, run=never, later=timedelta(seconds=62)) == MADE


async def test_who_died_before_the_clock_was_set_back_has_died_all_the_same(
    platform: Platform, alice: Caller
) -> None:
    under = platform.sealer.digest(KEY, purpose="saved answer")
    async with platform.database.transaction() as tx:
        await tx.answers.claim(
            alice.organization_id,
            under,
            request=REQUEST,
            now=NOW + timedelta(hours=3),
            expires=NOW + timedelta(days=1),
            holder="another process",
        )
    assert await ask(platform, alice) == MADE


async def test_a_request_that_was_cut_off_here_leaves_its_key_at_once(
    platform: Platform, alice: Caller
) -> None:
    begun = asyncio.Event()

    async def run() -> Answer:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    asking = asyncio.create_task(ask(platform, alice, run=run))
    await begun.wait()
    with pytest.raises(Conflict, match="still in progress"):
        await ask(platform, alice, run=never, later=timedelta(days=0.9))
    asking.cancel()
    await asyncio.wait([asking])
    assert await ask(platform, alice) == MADE


async def test_what_failed_leaves_the_key_free(
    platform: Platform, alice: Caller
) -> None:
    async def fails() -> Answer:
        raise Conflict("not now")

    with pytest.raises(Conflict, match="not now"):
        await ask(platform, alice, run=fails)
    assert await ask(platform, alice) == MADE
