"""The queues: one for each kind of task."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from leyden.base.tasks.work import Work
from leyden.values import Struct

# A claim that is not extended ends after this long.
CLAIM_FOR = timedelta(seconds=30)
_FIRST_RETRY_S: Final = 1.0
_LAST_RETRY_S: Final = 300.0
# More doublings than there are until then, and no more than a float has.
_MAX_DOUBLINGS: Final = 30


class Queue(Struct, frozen=True, kw_only=True):
    """A queue: one kind of task, its handler, and its concurrency."""

    kind: str
    run: Callable[[Work], Awaitable[None]]
    concurrency: int = 16
    claim_for: timedelta = CLAIM_FOR
    at_home: bool = False  # only in processes of the home that nodes belong to
    watch: str = ""  # only in the process that has claimed the task of this kind
    continuous: bool = False  # runs for as long as its claim is held


def retry_after(attempts: int) -> timedelta:
    """Return the delay after failures: 1 s, 2 s, 4 s ... 5 minutes."""
    doublings = min(attempts - 1, _MAX_DOUBLINGS)
    return timedelta(seconds=min(_FIRST_RETRY_S * 2**doublings, _LAST_RETRY_S))
