import asyncio

import pytest

from leyden.nodes.rules.observations import LndState, Observation
from leyden.nodes.start_limits import StartLimit
from tests.waiting import until


def saw(state: LndState | None = None, *, alive: bool = True) -> Observation:
    return Observation(process="lnd 1", alive=alive, state=state)


class Line:
    """Nodes that want to start, in the order in which they came."""

    def __init__(self, starts: StartLimit, names: str) -> None:
        self.entered: list[str] = []
        self._starts = starts
        self.tasks = {name: asyncio.create_task(self._enter(name)) for name in names}

    async def _enter(self, name: str) -> None:
        await self._starts.acquire(name, name)
        self.entered.append(name)


@pytest.mark.parametrize(
    "settled",
    [
        saw(LndState.NON_EXISTING),
        saw(LndState.RPC_ACTIVE),
        saw(LndState.SERVER_ACTIVE),
        saw(alive=False),
    ],
)
async def test_as_many_as_may_go_in_and_the_next_when_one_has_settled(
    settled: Observation,
) -> None:
    starts = StartLimit(2)
    line = Line(starts, "abcd")
    await until(lambda: len(line.entered) == 2)
    starts.update("a", saw(LndState.LOCKED))
    starts.update("a", saw(LndState.UNLOCKED))
    await asyncio.sleep(0.01)
    assert line.entered == ["a", "b"]
    starts.update("a", settled)
    await until(lambda: line.entered == ["a", "b", "c"])
    starts.update("a", settled)  # again, which frees nothing more
    await asyncio.sleep(0.01)
    assert line.entered == ["a", "b", "c"]
    starts.release("b")
    await until(lambda: line.entered == ["a", "b", "c", "d"])


async def test_a_wallet_that_nobody_unlocks_holds_up_the_others_only_so_long() -> None:
    starts = StartLimit(1, unlocked_by_s=0.02)
    line = Line(starts, "ab")
    await until(lambda: line.entered == ["a"])
    starts.update("a", saw(LndState.LOCKED))
    await until(lambda: line.entered == ["a", "b"])


async def test_a_start_that_is_stuck_holds_up_the_others_only_so_long() -> None:
    line = Line(StartLimit(1, longest_s=0.02), "ab")
    await until(lambda: line.entered == ["a", "b"])


async def test_who_gives_up_waiting_takes_nobodys_place() -> None:
    starts = StartLimit(1)
    line = Line(starts, "abc")
    await until(lambda: line.entered == ["a"])
    line.tasks["b"].cancel()
    starts.release("a")
    await until(lambda: line.entered == ["a", "c"])


async def test_who_is_offered_a_place_and_gives_up_passes_it_on() -> None:
    starts = StartLimit(1)
    line = Line(starts, "abc")
    await until(lambda: line.entered == ["a"])
    starts.release("a")  # now the place is b's ...
    line.tasks["b"].cancel()  # ... who is gone before taking it
    await until(lambda: line.entered == ["a", "c"])


async def test_who_is_in_already_need_not_wait() -> None:
    starts = StartLimit(1)
    for _ in range(2):
        async with asyncio.timeout(1):
            await starts.acquire("a", "alice")


async def test_nobody_has_all_places_and_organizations_take_turns() -> None:
    starts = StartLimit(3)
    entered: list[str] = []

    async def enter(name: str) -> None:
        await starts.acquire(name, name[0])
        entered.append(name)

    storm = [f"a{number}" for number in range(5)]
    line = [asyncio.create_task(enter(name)) for name in storm]
    await until(lambda: entered == ["a0", "a1"])  # and the last place stays free
    line.append(asyncio.create_task(enter("b0")))
    await until(lambda: entered == ["a0", "a1", "b0"])
    line += [asyncio.create_task(enter(name)) for name in ("b1", "c0")]
    await asyncio.sleep(0)
    for done in ("a0", "a1", "b0", "a2", "b1"):
        starts.release(done)
        await asyncio.sleep(0.001)
    assert entered == ["a0", "a1", "b0", "a2", "b1", "c0", "a3", "a4"]


async def test_where_one_may_start_at_a_time_everybody_comes_in_turn() -> None:
    starts = StartLimit(1)
    await starts.acquire("a0", "a")
    entered: list[str] = []

    async def enter(name: str) -> None:
        await starts.acquire(name, name[0])
        entered.append(name)
        starts.release(name)

    line = [asyncio.create_task(enter(name)) for name in ("a1", "a2", "b0")]
    await asyncio.sleep(0)
    starts.release("a0")
    await asyncio.gather(*line)
    assert entered == ["a1", "b0", "a2"]
