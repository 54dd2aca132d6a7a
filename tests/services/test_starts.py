import asyncio
from collections.abc import Callable

import pytest

from leyden.domain.observations import Observation, State
from leyden.services.starts import Starts


def saw(state: State | None = None, *, alive: bool = True) -> Observation:
    return Observation(process="lnd 1", alive=alive, state=state)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.001)


class Line:
    """Nodes that want to start, in the order in which they came."""

    def __init__(self, starts: Starts, names: str) -> None:
        self.entered: list[str] = []
        self._starts = starts
        self.tasks = {name: asyncio.create_task(self._enter(name)) for name in names}

    async def _enter(self, name: str) -> None:
        await self._starts.enter(name)
        self.entered.append(name)


@pytest.mark.parametrize(
    "settled",
    [
        saw(State.NON_EXISTING),
        saw(State.RPC_ACTIVE),
        saw(State.SERVER_ACTIVE),
        saw(alive=False),
    ],
)
async def test_as_many_as_may_go_in_and_the_next_when_one_has_settled(
    settled: Observation,
) -> None:
    starts = Starts(2)
    line = Line(starts, "abcd")
    await until(lambda: len(line.entered) == 2)
    starts.see("a", saw(State.LOCKED))
    starts.see("a", saw(State.UNLOCKED))
    await asyncio.sleep(0.01)
    assert line.entered == ["a", "b"]
    starts.see("a", settled)
    await until(lambda: line.entered == ["a", "b", "c"])
    starts.see("a", settled)  # again, which frees nothing more
    await asyncio.sleep(0.01)
    assert line.entered == ["a", "b", "c"]
    starts.leave("b")
    await until(lambda: line.entered == ["a", "b", "c", "d"])


async def test_a_wallet_that_nobody_unlocks_holds_up_the_others_only_so_long() -> None:
    starts = Starts(1, unlocked_by_s=0.02)
    line = Line(starts, "ab")
    await until(lambda: line.entered == ["a"])
    starts.see("a", saw(State.LOCKED))
    await until(lambda: line.entered == ["a", "b"])


async def test_a_start_that_is_stuck_holds_up_the_others_only_so_long() -> None:
    line = Line(Starts(1, longest_s=0.02), "ab")
    await until(lambda: line.entered == ["a", "b"])


async def test_who_gives_up_waiting_takes_nobodys_place() -> None:
    starts = Starts(1)
    line = Line(starts, "abc")
    await until(lambda: line.entered == ["a"])
    line.tasks["b"].cancel()
    starts.leave("a")
    await until(lambda: line.entered == ["a", "c"])


async def test_who_is_offered_a_place_and_gives_up_passes_it_on() -> None:
    starts = Starts(1)
    line = Line(starts, "abc")
    await until(lambda: line.entered == ["a"])
    starts.leave("a")  # now the place is b's ...
    line.tasks["b"].cancel()  # ... who is gone before taking it
    await until(lambda: line.entered == ["a", "c"])


async def test_who_is_in_already_need_not_wait() -> None:
    starts = Starts(1)
    for _ in range(2):
        async with asyncio.timeout(1):
            await starts.enter("a")
