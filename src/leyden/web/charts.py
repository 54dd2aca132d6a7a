"""Curves as small pictures: a path that the page draws, and words for those who ask."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from leyden.services.samples import Sample
from leyden.web import words

_WIDTH = 100
_HEIGHT = 30


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One curve."""

    name: str
    latest: str
    most: str
    path: str


def curves(samples: Sequence[Sample]) -> list[Curve]:
    """Give what a node's page draws; nothing before there are two samples."""
    if len(samples) < 2:  # noqa: PLR2004  a curve has two ends
        return []
    return [
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
    top = max(*values, 1) if len(values) > 1 else max(values[0], 1)
    step = _WIDTH / max(1, len(values) - 1)
    points = [
        f"{number * step:.1f} {_HEIGHT - 1 - value / top * (_HEIGHT - 2):.1f}"
        for number, value in enumerate(values)
    ]
    return Curve(
        name=name,
        latest=words.size(values[-1]) + per,
        most=words.size(max(values)) + per,
        path=f"M{' L'.join(points)}",
    )
