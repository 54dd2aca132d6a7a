"""How much work the event loop's thread does between two turns, and a table of it.

What is counted are calls of functions, of Python and of C, which a slow or a loaded
machine makes no more of; work in other threads does not count. One call of C may be
long, too: the processor time of a turn may be a hundred times what is usual, which
only what hangs takes.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Self

MAX_CALLS = 80_000  # some 30 ms of Python; today 500 addresses take 64,000
_MAX_S = 2.0
_CALLS = frozenset({"call", "c_call"})


class Longest:
    """Counts the work of the callbacks that a loop is given while it is entered."""

    calls = 0
    seconds = 0.0
    _NAMES = ("call_soon", "call_soon_threadsafe", "call_at")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._counted = 0

    def __enter__(self) -> Self:
        for name in self._NAMES:
            setattr(self._loop, name, self._measuring(getattr(self._loop, name), name))
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        for name in self._NAMES:
            delattr(self._loop, name)  # which lets the loop's own be seen again

    @property
    def is_short(self) -> bool:
        """Return whether nobody else had to wait for any of them."""
        return self.calls < MAX_CALLS and self.seconds < _MAX_S

    def _count(self, _frame: FrameType, event: str, _: object) -> None:
        if event in _CALLS:
            self._counted += 1

    def _measuring(self, schedule: Callable[..., Any], name: str) -> Callable[..., Any]:
        before = 1 if name == "call_at" else 0

        def scheduled(*args: Any, **context: Any) -> Any:
            return schedule(*args[:before], self._run, *args[before:], **context)

        return scheduled

    def _run(self, callback: Callable[..., Any], *args: Any) -> None:
        self._counted, begun = 0, time.thread_time()
        try:
            callback(*args)
        finally:
            self.calls = max(self.calls, self._counted)
            self.seconds = max(self.seconds, time.thread_time() - begun)


@dataclass(frozen=True)
class Cost:
    """What one request took of the loop in its longest turn."""

    what: str
    status: int
    calls: int
    seconds: float
    is_short: bool

    def __str__(self) -> str:
        return (
            f"{self.what:<44}{self.status:>6}{self.calls:>9,}"
            f"{self.seconds * 1_000:9.1f}"
        )


HEADLINE = f"{'worst case, in the longest turn':<44}{'status':>6}{'calls':>9}{'ms':>9}"


async def cost(what: str, request: Callable[[], Awaitable[int]]) -> Cost:
    """Make a request twice; give what the second took.

    The first fills caches and imports what is imported once in a process.
    """
    for _ in range(2):
        with Longest() as longest:
            status = await asyncio.create_task(_called(request))
    return Cost(what, status, longest.calls, longest.seconds, longest.is_short)


async def _called(request: Callable[[], Awaitable[int]]) -> int:
    return await request()
