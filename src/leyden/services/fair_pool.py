"""A few threads for slow work, shared fairly among those who ask for it.

Whoever asks for more than one thing at once waits behind themselves: each owner has one
thread at the most, and owners take turns. What waits beyond a number is refused.
"""

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from leyden.errors import TooMany

# Python lets a thread that computes go on for 5 ms at a time while the event loop waits
# for its turn: after each call to the database, to a socket, to anything.
_TURN_S: Final = 0.0005
_BUSY: Final = "too many requests of yours wait for their turn; try again in a moment"

_Done = TypeVar("_Done")
_Job = tuple[Future[Any], Callable[[], Any]]


class FairPool:
    """Threads that work for one owner after the other."""

    def __init__(self, *, threads: int = 2, waiting: int = 20, name: str) -> None:
        self._threads = threads
        self._waiting = waiting
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._queues: dict[str, deque[_Job]] = {}  # whose turn is next comes first
        self._served: set[str] = set()

    async def run(self, owner: str, work: Callable[[], _Done]) -> _Done:
        """Do it in a thread when the owner's turn comes; TooMany if too much waits."""
        sys.setswitchinterval(min(sys.getswitchinterval(), _TURN_S))
        future: Future[_Done] = Future()
        with self._lock:
            queue = self._queues.setdefault(owner, deque())
            if len(queue) >= self._waiting:
                raise TooMany(_BUSY, retry_after_s=1)
            queue.append((future, work))
            self._start()
        return await asyncio.wrap_future(future)

    def _start(self) -> None:
        """Begin with what can be begun; whoever calls has the lock."""
        for owner in [each for each in self._queues if each not in self._served]:
            if len(self._served) >= self._threads:
                return
            queue = self._queues.pop(owner)
            future, work = queue.popleft()
            if queue:
                self._queues[owner] = queue  # at the end of the line
            self._served.add(owner)
            self._executor.submit(self._do, owner, future, work)

    def _do(self, owner: str, future: Future[Any], work: Callable[[], Any]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(work())
        except BaseException as error:  # noqa: BLE001  it is told to whoever asked
            future.set_exception(error)
        finally:
            with self._lock:
                self._served.discard(owner)
                self._start()


# What is uploaded and has to be read: shared by all of a process.
UPLOADS: Final = FairPool(name="upload")
