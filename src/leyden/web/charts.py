"""Curves as small pictures: a path that the page draws, and words for those who ask."""

from collections.abc import Sequence
from itertools import pairwise

from leyden.services.samples import Sample
from leyden.values import Struct
from leyden.web import words

_WIDTH = 100
_HEIGHT = 30


class Curve(Struct, frozen=True, kw_only=True):
    """One curve."""

    name: str
    latest: str
    note: str
    path: str


def curves(samples: Sequence[Sample]) -> list[Curve]:
    """Give what a node's page draws; nothing before there are two samples."""
    if len(samples) < 2:  # noqa: PLR2004  a curve has two ends
        return []
    heights = [each.height for each in samples if each.height]
    return [
        *([_chain(heights)] if len(heights) > 1 else []),
        _curve("Memory", [each.memory for each in samples], ""),
        _curve("From its callers", _rates(samples, "bytes_in"), "/s"),
        _curve("To its callers", _rates(samples, "bytes_out"), "/s"),
    ]


def _rates(samples: Sequence[Sample], field: str) -> list[int]:
    rates = []
    for before, after in pairwise(samples):
        seconds = max(1.0, (after.at - before.at).total_seconds())
        # A gateway that was started anew counts from nought.
        grown = max(0, getattr(after, field) - getattr(before, field))
        rates.append(round(grown / seconds))
    return rates


def _curve(name: str, values: Sequence[int], per: str) -> Curve:
    return Curve(
        name=name,
        latest=words.size(values[-1]) + per,
        note=f"at most {words.size(max(values))}{per}",
        path=_path(values, bottom=0),
    )


def _chain(heights: Sequence[int]) -> Curve:
    """Draw how the chain grew: from where it was to where it is."""
    grown = heights[-1] - heights[0]
    return Curve(
        name="Block",
        latest=f"{heights[-1]:,}",
        note=f"{grown:,} since" if grown >= 0 else f"{-grown:,} undone",
        path=_path(heights, bottom=min(heights)),
    )


def _path(values: Sequence[int], *, bottom: int) -> str:
    span = max(max(values) - bottom, 1)
    step = _WIDTH / max(1, len(values) - 1)
    points = [
        f"{number * step:.1f} "
        f"{_HEIGHT - 1 - (value - bottom) / span * (_HEIGHT - 2):.1f}"
        for number, value in enumerate(values)
    ]
    return f"M{' L'.join(points)}"
