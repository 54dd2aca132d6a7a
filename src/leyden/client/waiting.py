"""Polling until a status is reached."""

import time
from collections.abc import Callable, Collection
from typing import Protocol, TypeVar


class _Standing(Protocol):
    @property
    def status(self) -> str: ...


State = TypeVar("State", bound=_Standing)


def poll(
    what: str,
    read: Callable[[], State],
    statuses: Collection[str],
    *,
    every_s: float,
    within_s: float,
    on_state: Callable[[State], object],
) -> State:
    """Poll until the status is one of these; return the last result.

    Raise TimeoutError after `within_s`. `on_state` is called with the result of
    each poll.
    """
    deadline = time.monotonic() + within_s
    while True:
        state = read()
        on_state(state)
        if state.status in statuses:
            return state
        if time.monotonic() + every_s > deadline:
            raise TimeoutError(f"{what} is {state.status} after {within_s:.0f} s")
        time.sleep(every_s)
