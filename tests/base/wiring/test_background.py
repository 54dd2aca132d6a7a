"""Background jobs go on after what nobody expected, and end with their block."""

import asyncio

import pytest

from leyden.base.background import background


async def test_a_job_that_fails_starts_again_and_is_logged(
    logged: pytest.LogCaptureFixture,
) -> None:
    runs = 0
    done = asyncio.Event()

    async def job() -> None:
        nonlocal runs
        runs += 1
        if runs < 3:
            raise ValueError("of a kind that nobody expected")
        done.set()

    async with background({"watch": job}, again_s=0):
        await done.wait()
    assert runs == 3, "and one that returns has done its work"
    failed = [each for each in logged.records if each.levelname == "ERROR"]
    assert [vars(each)["job"] for each in failed] == ["watch", "watch"]
    assert "of a kind that nobody expected" in logged.text


async def test_jobs_end_with_their_block() -> None:
    begun, ended = asyncio.Event(), []

    async def job() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.append("job")

    async with background({"one": job, "other": job}):
        await begun.wait()
        assert not ended
    assert ended == ["job", "job"]


async def test_another_job_is_not_disturbed() -> None:
    goes_on = asyncio.Event()

    async def fails() -> None:
        raise ValueError

    async def waits() -> None:
        await asyncio.sleep(0)
        goes_on.set()

    async with background({"fails": fails, "waits": waits}, again_s=0):
        await goes_on.wait()
