"""How long the event loop's thread computes between two turns, and a table of it.

What is measured is processor time of that one thread, not time on the clock: a loaded
machine makes it little longer, and work in other threads does not count.
"""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self

MOST_S = 0.020
# On a machine where a mebibyte takes longer than 1.2 ms to digest, so much longer.
_SHA512_IN_MOST = 16
_TRIES = 4


class Longest:
    """Measures the callbacks that a loop is given while it is entered."""

    seconds = 0.0
    _NAMES = ("call_soon", "call_soon_threadsafe", "call_at")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        for name in self._NAMES:
            setattr(self._loop, name, self._measuring(getattr(self._loop, name), name))
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._NAMES:
            delattr(self._loop, name)  # which lets the loop's own be seen again

    def _measuring(self, schedule: Callable[..., Any], name: str) -> Callable[..., Any]:
        before = 1 if name == "call_at" else 0

        def scheduled(*args: Any, **context: Any) -> Any:
            return schedule(*args[:before], self._run, *args[before:], **context)

        return scheduled

    def _run(self, callback: Callable[..., Any], *args: Any) -> None:
        begun = time.thread_time()
        try:
            callback(*args)
        finally:
            self.seconds = max(self.seconds, time.thread_time() - begun)


@dataclass(frozen=True)
class Cost:
    """What one request took, in seconds of processor."""

    what: str
    status: int
    longest_s: float  # on the loop, without a break
    loop_s: float
    all_s: float  # of every thread

    def __str__(self) -> str:
        taken = (self.longest_s, self.loop_s, self.all_s)
        figures = "".join(f"{each * 1_000:9.1f}" for each in taken)
        return f"{self.what:<44}{self.status:>6}{figures}"


HEADLINE = f"{'worst case':<44}{'status':>6}{'longest':>9}{'loop':>9}{'all ms':>9}"


def most_s() -> float:
    """How long one callback may compute on this machine."""
    data, taken = bytes(1 << 20), []
    for _ in range(5):
        begun = time.thread_time()
        hashlib.sha512(data).digest()
        taken.append(time.thread_time() - begun)
    return max(MOST_S, _SHA512_IN_MOST * sorted(taken)[2])


async def cost(
    what: str, request: Callable[[], Awaitable[int]], *, again: int = _TRIES - 1
) -> Cost:
    """Make a request several times; give what it took when it took least.

    The first time fills caches and imports what is imported once in a process.
    """
    costs = []
    for _ in range(1 + again):
        on_loop, everywhere = time.thread_time(), time.process_time()
        with Longest() as longest:
            status = await asyncio.create_task(_called(request))
        costs.append(
            Cost(
                what=what,
                status=status,
                longest_s=longest.seconds,
                loop_s=time.thread_time() - on_loop,
                all_s=time.process_time() - everywhere,
            )
        )
    return min(costs[1:], key=lambda each: each.longest_s)


async def _called(request: Callable[[], Awaitable[int]]) -> int:
    return await request()
