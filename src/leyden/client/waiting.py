"""Polling until a status is reached."""

import time
from collections.abc import Callable, Collection
from typing import Protocol, TypeVar


class _Standing(Protocol):
    @property
    def status(self) -> str: ...


Seen = TypeVar("Seen", bound=_Standing)


def poll(
    what: str,
    read: Callable[[], Seen],
    statuses: Collection[str],
    *,
    every_s: float,
    within_s: float,
    told: Callable[[Seen], object],
) -> Seen:
    """Poll until the status is one of these; return the last result.

    Raise TimeoutError after `within_s`. `told` is called with the result of
    each poll.
    """
    deadline = time.monotonic() + within_s
    while True:
        seen = read()
        told(seen)
        if seen.status in statuses:
            return seen
        if time.monotonic() + every_s > deadline:
            raise TimeoutError(f"{what} is {seen.status} after {within_s:.0f} s")
        time.sleep(every_s)
