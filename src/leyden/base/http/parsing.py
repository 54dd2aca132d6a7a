"""A thread for slow parsing, in which owners take turns.

It parses what would hold the event loop for some 0.1 s: large bodies, chains of
certificates, passkeys. There is one thread, as Python runs one at a time: the event
loop never waits for more than one other. An owner with many calls only delays their
own; an owner with too many is refused.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from leyden.base.fair_queue import FairQueue
from leyden.errors import TooMany

_BUSY: Final = "too many of your requests are waiting; try again in a moment"

_Result = TypeVar("_Result")
_Job = tuple[Future[Any], Callable[[], Any]]


class ParsingThread:
    """A thread that serves owners in turn, from any event loop."""

    def __init__(self, *, waiting: int = 100) -> None:
        self._most = waiting
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="parsing")
        self._lock = threading.Lock()
        self._waiting: FairQueue[_Job] = FairQueue()

    async def run(self, owner: str, work: Callable[[], _Result]) -> _Result:
        """Do `work` on the owner's turn and return its result.

        Raise what it raised, or TooMany if too much of the owner's waits already.
        """
        future: Future[_Result] = Future()
        with self._lock:
            if self._waiting.count(owner) >= self._most:
                raise TooMany(_BUSY, retry_after_s=1)
            self._waiting.put(owner, (future, work))
        self._executor.submit(self._do_next)
        return await asyncio.wrap_future(future)

    def _do_next(self) -> None:
        """Do the first job of the owner whose turn it is; one call for each job."""
        with self._lock:
            found = self._waiting.take()
        if found is None:
            return
        _, (future, work) = found
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001  it is raised at the caller
                future.set_exception(error)


# Shared by all of a process.
PARSING: Final = ParsingThread()
