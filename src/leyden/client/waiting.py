"""Looking until something has come to where it is wanted."""

import time
from collections.abc import Callable, Collection
from typing import Protocol, TypeVar


class _Standing(Protocol):
    @property
    def status(self) -> str: ...


Seen = TypeVar("Seen", bound=_Standing)


def until(
    what: str,
    look: Callable[[], Seen],
    statuses: Collection[str],
    *,
    every_s: float,
    within_s: float,
    told: Callable[[Seen], object],
) -> Seen:
    """Look until it has one of these statuses; TimeoutError after a while.

    `told` is called with what is seen, each time.
    """
    deadline = time.monotonic() + within_s
    while True:
        seen = look()
        told(seen)
        if seen.status in statuses:
            return seen
        if time.monotonic() + every_s > deadline:
            raise TimeoutError(f"{what} is {seen.status} after {within_s:.0f} s")
        time.sleep(every_s)
