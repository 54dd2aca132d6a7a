"""How often one may ask, whatever the clock does meanwhile."""

import asyncio

import pytest

from leyden.base.http import limits
from leyden.base.http.limits import RateLimit, Refusals, Requests
from leyden.errors import TooMany


def test_a_clock_that_is_set_back_takes_nobodys_tokens() -> None:
    limit = RateLimit(60)
    limit.take("harbour", at_s=7_200.0)
    for _ in range(59):
        limit.take("harbour", at_s=3_600.0)
    with pytest.raises(TooMany) as refused:
        limit.take("harbour", at_s=3_600.0)
    assert refused.value.retry_after_s == 1
    limit.take("harbour", at_s=3_601.0)


def test_a_bucket_fills_evenly_to_a_minutes_worth_at_the_most() -> None:
    limit = RateLimit(60)
    for _ in range(60):
        limit.take("harbour", at_s=0.0)
    limit.check("lighthouse", at_s=0.0)
    with pytest.raises(TooMany):
        limit.check("harbour", at_s=0.5)
    for _ in range(60):
        limit.take("harbour", at_s=86_400.0)
    with pytest.raises(TooMany):
        limit.take("harbour", at_s=86_400.0)


def test_all_keys_of_an_organization_together_get_what_five_get() -> None:
    requests = Requests(60)
    for number in range(300):
        requests.take(f"key {number}", "harbour", at_s=0.0)
    with pytest.raises(TooMany, match="organization sends too many requests; wait 1 s"):
        requests.take("another key", "harbour", at_s=0.0)
    requests.take("a key", "lighthouse", at_s=0.0)
    requests.take("another key", "harbour", at_s=1.0)


def test_others_push_nobody_out_who_asks_on() -> None:
    limit = RateLimit(1)
    limit.take("harbour", at_s=0.0)
    for number in range(2 * limits.MAX_BUCKETS):
        limit.take(f"storm {number}", at_s=0.0)
        if number % 10_000 == 0:
            with pytest.raises(TooMany):
                limit.take("harbour", at_s=0.0)
    with pytest.raises(TooMany):
        limit.take("harbour", at_s=0.0)
    limit.take("storm 0", at_s=0.0)  # is forgotten: not used for the longest time


async def test_who_asks_on_is_refused_late() -> None:
    refusals = Refusals(after_s=60)
    for number in range(60):
        await refusals.wait("harbour", at_s=number / 1_000)
    late = [asyncio.create_task(refusals.wait("harbour", at_s=0.1)) for _ in range(100)]
    await asyncio.sleep(0)
    # Nobody else is late, and no more connections of theirs are held than so many.
    await refusals.wait("lighthouse", at_s=0.1)
    await refusals.wait("harbour", at_s=0.1)
    assert not any(task.done() for task in late)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    again = asyncio.create_task(refusals.wait("harbour", at_s=0.2))
    await asyncio.sleep(0)
    assert not again.done()
    again.cancel()


async def test_who_waits_as_told_is_refused_at_once() -> None:
    refusals = Refusals(after_s=60)
    for second in range(200):
        await refusals.wait("harbour", at_s=float(second))
