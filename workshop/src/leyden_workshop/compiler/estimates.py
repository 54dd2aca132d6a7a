"""How long a build still takes: the catalogue's estimates, as this machine keeps them.

The catalogue says what two idle processors need. Sets that this machine has finished
tell how it compares; before the first of them, the number of its processors does.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from leyden.base.daemons.catalogue import ToolSet
from leyden.values import Struct

_PROCESSORS: Final = 2  # what the catalogue's estimates are for
_MAX_PROCESSORS: Final = 8  # linking and the longest package use one each
_MINUTE: Final = 60


class Finished(Struct, frozen=True):
    """A set that was built here, and how long it took."""

    tools: ToolSet
    seconds: float


def pace(finished: Iterable[Finished], *, processors: int) -> float:
    """Return how many times as long as estimated this machine takes."""
    done = [*finished]
    estimated = sum(each.tools.seconds for each in done)
    if not estimated:
        return _PROCESSORS / max(1, min(processors, _MAX_PROCESSORS))
    return sum(each.seconds for each in done) / estimated


def remaining_s(
    left: Sequence[ToolSet],
    finished: Iterable[Finished] = (),
    *,
    processors: int,
    begun_s: float = 0.0,
) -> float:
    """Return how long it takes to build the sets that are left, one after the other.

    The first of them was begun `begun_s` ago; one that takes longer than estimated is
    taken to be as good as done.
    """
    if not left:
        return 0.0
    times = pace(finished, processors=processors)
    first = max(0.0, left[0].seconds * times - begun_s)
    return first + sum(each.seconds for each in left[1:]) * times


def in_words(seconds: float) -> str:
    """Return a time as a person would estimate it: "about 6 minutes"."""
    minutes = round(seconds / _MINUTE)
    if minutes < 1:
        return "less than a minute"
    return "about a minute" if minutes == 1 else f"about {minutes} minutes"
