"""How many things are in which state: one bar of all, and a way to those of each."""

from collections import Counter
from collections.abc import Iterable

from leyden.values import Struct


class Part(Struct, frozen=True, kw_only=True):
    """The things of one state: how many, and where in a bar of a hundred."""

    state: str
    count: int
    begins: float
    width: float


def parts(states: Iterable[str]) -> list[Part]:
    """Lay them out from the left, most of all first."""
    counts = Counter(states).most_common()
    hundredth = sum(count for _, count in counts) / 100
    found, begins = [], 0.0
    for state, count in counts:
        width = count / hundredth
        found.append(Part(state=state, count=count, begins=begins, width=width))
        begins += width
    return found
