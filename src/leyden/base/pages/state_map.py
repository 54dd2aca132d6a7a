"""A map of states: a square for each thing, grouped by state.

The squares are a pattern, not drawn one by one, so that ten thousand take
no more of a page than ten.
"""

from collections.abc import Mapping
from typing import Final

from leyden.values import Struct

SIDE: Final = 12  # of a square with the space around it
_ROW: Final = 40
_MAX_ROWS: Final = 50


class Patch(Struct, frozen=True, kw_only=True):
    """The squares of one state: full rows, and the last partial row."""

    state: str
    count: int
    width: int
    height: int
    full_rows_height: int  # the height of the whole rows
    rest: int  # the width of the row below them


def patches(counts: Mapping[str, int]) -> list[Patch]:
    """Lay out the squares; above two thousand in a state, show a number."""
    found = []
    for state, count in counts.items():
        shown = min(count, _ROW * _MAX_ROWS)
        rows, rest = divmod(shown, _ROW)
        found.append(
            Patch(
                state=state,
                count=count,
                width=SIDE * min(shown, _ROW),
                height=SIDE * (rows + bool(rest)),
                full_rows_height=SIDE * rows,
                rest=SIDE * rest,
            )
        )
    return [each for each in found if each.count]
