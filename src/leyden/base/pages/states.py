"""Counts by state: a bar of all, with links to the things of each state."""

from collections.abc import Iterable

from leyden.values import Struct


class Part(Struct, frozen=True, kw_only=True):
    """A state's count, and its position in a bar of 100 units."""

    state: str
    count: int
    begins: float
    width: float


def parts(counts: Iterable[tuple[str, int]]) -> list[Part]:
    """Lay out the states from the left, the most frequent first."""
    most_first = sorted(counts, key=lambda each: -each[1])
    hundredth = sum(count for _, count in most_first) / 100
    found, begins = [], 0.0
    for state, count in most_first:
        width = count / hundredth
        found.append(Part(state=state, count=count, begins=begins, width=width))
        begins += width
    return found
