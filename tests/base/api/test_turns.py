"""Requests of an organization begin in turns with those of others."""

import asyncio
import time
from functools import partial

import pytest

from leyden.base.fair_queue import OWNER
from leyden.base.http import turns
from leyden.base.http.operations import Operation, Request
from leyden.base.http.turns import Turns
from leyden.values import Struct
from tests.base.api.conftest import Caller

_MANY = 30


async def test_of_each_organization_one_begins_in_a_pass() -> None:
    begun: list[str] = []
    of_this_loop = Turns()

    async def ask(organization_id: str) -> None:
        await of_this_loop.take(organization_id)
        begun.append(organization_id)

    order = ["worst"] * 5 + ["calm", "calm", "other"]
    await asyncio.gather(*map(ask, order))
    first, second = ["worst", "calm", "other"], ["worst", "calm"]
    assert begun == [*first, *second, "worst", "worst", "worst"]
    await of_this_loop.take("worst")  # nobody is kept


async def test_who_left_takes_no_turn() -> None:
    of_this_loop = Turns()
    waiting = [asyncio.create_task(of_this_loop.take("worst")) for _ in range(4)]
    waiting[1].cancel()
    waiting[2].cancel()
    async with asyncio.timeout(5):
        await waiting[3]


async def test_who_works_for_long_rests_and_others_do_not() -> None:
    done: list[tuple[str, float, float]] = []

    def work(organization_id: str, takes_s: float) -> None:
        began = time.perf_counter()
        time.sleep(takes_s)
        done.append((organization_id, began, time.perf_counter()))

    async def ask(organization_id: str, takes_s: float) -> None:
        await turns.work(organization_id, partial(work, organization_id, takes_s))

    await asyncio.gather(
        *(ask("worst", 0.02) for _ in range(3)), *(ask("calm", 0.0) for _ in range(5))
    )
    assert [who for who, *_ in done] == ["worst", *["calm"] * 5, "worst", "worst"]
    *_, (_, began, ended), (_, next_began, _) = done
    assert next_began - ended >= ended - began  # it rests twice as long, but for ticks


async def test_others_do_not_wait_for_all_that_one_organization_asks(
    alice: Caller, charlie: Caller
) -> None:
    answered: list[str] = []

    async def ask(caller: Caller) -> None:
        assert (await caller.get("/flow/ledger?limit=1")).status == 200
        answered.append(caller.organization_id)

    await ask(charlie)  # which fills caches
    await asyncio.gather(*(ask(who) for who in [*[alice] * _MANY, charlie]))
    assert charlie.organization_id in answered[1 : _MANY // 2]


class Written(Struct):
    """For whom something is written."""

    owner: str


async def show(_: Request) -> Written:
    """Show it."""
    return Written(OWNER.get())


class TestOwner:
    @pytest.fixture
    def operations(self) -> tuple[Operation, ...]:
        return (Operation("GET", "/owner", show, None),)

    async def test_a_request_writes_for_its_organization(
        self, alice: Caller, charlie: Caller
    ) -> None:
        for who in (alice, charlie):
            answer = (await who.get("/owner")).json()
            assert answer == {"owner": who.organization_id}
