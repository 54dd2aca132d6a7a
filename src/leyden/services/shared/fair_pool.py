"""A small thread pool for slow work, shared fairly among owners.

Each owner has one thread at most, and owners take turns, so an owner with
many calls only delays their own. Calls beyond a maximum queue length are
refused.

Python runs one thread at a time, so whatever is computed here is taken from
the event loop. After each call an owner therefore rests for a multiple of the
CPU time that the call took: nobody takes more than a fifth of a processor.
"""

import asyncio
import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from leyden.errors import TooMany

# Python lets a thread that computes go on for 5 ms at a time while the event loop waits
# for its turn: after each call to the database, to a socket, to anything. A request has
# dozens of them: beside such a thread one of 0.3 ms took 4 ms with half a millisecond
# at a time, and takes 1 ms with this.
_TURN_S: Final = 0.00005
# An owner rests for so many times the CPU time that was taken, but never for long.
_REST: Final = 4.0
_LONGEST_REST_S: Final = 5.0
_SHORTEST_REST_S: Final = 0.005
_BUSY: Final = "too many of your requests are waiting; try again in a moment"

_Done = TypeVar("_Done")
_Job = tuple[asyncio.AbstractEventLoop, Future[Any], Callable[[], Any]]


class FairPool:
    """A thread pool that serves owners in turn."""

    def __init__(
        self,
        *,
        threads: int = 2,
        waiting: int = 20,
        cpu_s: Callable[[], float] = time.thread_time,
        name: str,
    ) -> None:
        self._threads = threads
        self._waiting = waiting
        self._cpu_s = cpu_s
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._queues: dict[str, deque[_Job]] = {}  # whose turn is next comes first
        self._served: set[str] = set()
        self._resting: dict[str, float] = {}  # until when

    async def run(self, owner: str, work: Callable[[], _Done]) -> _Done:
        """Run `work` in a thread on the owner's turn; raise TooMany if full."""
        sys.setswitchinterval(min(sys.getswitchinterval(), _TURN_S))
        future: Future[_Done] = Future()
        with self._lock:
            queue = self._queues.setdefault(owner, deque())
            if len(queue) >= self._waiting:
                raise TooMany(_BUSY, retry_after_s=1)
            queue.append((asyncio.get_running_loop(), future, work))
            self._start()
        return await asyncio.wrap_future(future)

    def _start(self) -> None:
        """Start all work that may run now; the caller holds the lock."""
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
            self._executor.submit(self._do, owner, *job)

    def _do(
        self,
        owner: str,
        loop: asyncio.AbstractEventLoop,
        future: Future[Any],
        work: Callable[[], Any],
    ) -> None:
        began_s = self._cpu_s()
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(work())
        except BaseException as error:  # noqa: BLE001  it is told to whoever asked
            future.set_exception(error)
        finally:
            rest_s = min((self._cpu_s() - began_s) * _REST, _LONGEST_REST_S)
            with self._lock:
                self._served.discard(owner)
                if rest_s > _SHORTEST_REST_S:
                    self._resting[owner] = time.monotonic() + rest_s
                    with contextlib.suppress(RuntimeError):  # that loop is closed
                        loop.call_soon_threadsafe(
                            loop.call_later, rest_s, self._rested, owner
                        )
                self._start()

    def _rested(self, owner: str) -> None:
        with self._lock:
            self._resting.pop(owner, None)
            self._start()


# What is uploaded and has to be read: shared by all of a process.
UPLOADS: Final = FairPool(name="upload")
