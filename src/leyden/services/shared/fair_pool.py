"""A small pool for slow work, shared fairly among owners.

Each owner has one thread at most, and owners take turns, so an owner with
many calls only delays their own. Calls beyond a maximum queue length are
refused. The threads only wait: what they wait for is computed by helpers,
beside the event loop's process (docs/decisions/0070).

After each call an owner rests for a multiple of the CPU time that the call
took: nobody takes more than a tenth of a processor.
"""

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from leyden.errors import TooMany
from leyden.helpers.pool import Helpers, Outcome

# An owner rests for so many times the CPU time that was taken, but never for long.
_REST: Final = 9.0
_LONGEST_REST_S: Final = 5.0
_SHORTEST_REST_S: Final = 0.005
_BUSY: Final = "too many of your requests are waiting; try again in a moment"

_Done = TypeVar("_Done")
_Job = tuple[asyncio.AbstractEventLoop, Future[Any], Callable[[], Any]]


class FairPool:
    """A pool that serves owners in turn; `compute` does the work, in a thread."""

    def __init__(
        self,
        *,
        threads: int = 2,
        waiting: int = 100,
        compute: Callable[[Callable[[], Any]], Outcome],
        name: str,
    ) -> None:
        self._threads = threads
        self._waiting = waiting
        self._compute = compute
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._queues: dict[str, deque[_Job]] = {}  # whose turn is next comes first
        self._served: set[str] = set()
        self._resting: dict[str, float] = {}  # until when

    async def run(self, owner: str, work: Callable[[], _Done]) -> _Done:
        """Do `work` on the owner's turn and return its result.

        Raise what it raised, TooMany if the queue is full, and Away if it could
        not be done.
        """
        future: Future[_Done] = Future()
        with self._lock:
            stayed = [
                job for job in self._queues.get(owner, ()) if not job[1].cancelled()
            ]
            queue = self._queues[owner] = deque(stayed)
            if len(queue) >= self._waiting:
                raise TooMany(_BUSY, retry_after_s=1)
            queue.append((asyncio.get_running_loop(), future, work))
            self._start(owner)
        return await asyncio.wrap_future(future)

    def _start(self, owner: str) -> None:
        """Start all work that may run now, and this owner's after a rest.

        The caller holds the lock.
        """
        self._start_ready()
        self._start_after_rest(owner)

    def _start_ready(self) -> None:
        now_s = time.monotonic()
        self._resting = {o: end for o, end in self._resting.items() if end > now_s}
        busy = self._served | self._resting.keys()
        for owner in [each for each in self._queues if each not in busy]:
            if len(self._served) >= self._threads:
                return
            queue = self._queues.pop(owner)
            job = queue.popleft()
            if queue:
                self._queues[owner] = queue  # at the end of the line
            self._served.add(owner)
            _, future, work = job
            self._executor.submit(self._do, owner, future, work)

    def _do(self, owner: str, future: Future[Any], work: Callable[[], Any]) -> None:
        taken_s = 0.0
        try:
            if future.set_running_or_notify_cancel():
                outcome = self._compute(work)
                taken_s = outcome.cpu_s
                if outcome.error is None:
                    future.set_result(outcome.value)
                else:
                    future.set_exception(outcome.error)
        except BaseException as error:  # noqa: BLE001  it is raised at the caller
            future.set_exception(error)
        finally:
            rest_s = min(taken_s * _REST, _LONGEST_REST_S)
            with self._lock:
                self._served.discard(owner)
                if rest_s > _SHORTEST_REST_S:
                    self._resting[owner] = time.monotonic() + rest_s
                self._start(owner)

    def _start_after_rest(self, owner: str) -> None:
        """Set a timer for a resting owner's work.

        The timer runs on a loop that waits for this work: the one on which the owner's
        last work was asked for may be closed.
        """
        queue, end = self._queues.get(owner), self._resting.get(owner)
        if not queue or end is None:
            return
        loop, _, _ = queue[-1]
        with contextlib.suppress(RuntimeError):  # it is closed, too: nobody waits
            loop.call_soon_threadsafe(
                loop.call_later, end - time.monotonic(), self._rested, owner
            )

    def _rested(self, owner: str) -> None:
        with self._lock:
            self._start(owner)  # the timer may be early by a moment


# What is uploaded and has to be read: shared by all of a process.
UPLOADS: Final = FairPool(compute=Helpers().compute, name="upload")
