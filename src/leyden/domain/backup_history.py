"""Which of the backups that were replaced make room for others.

Whoever has stolen a key of a node can put garbage in a backup's place, again and again.
Were the oldest to make room, twenty times would be enough to push the original out. So
what was in use for a day makes room for nothing, nor does the first of all; of the
others those go first that were in use for the shortest time.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from leyden.values import Struct

LONG_USE: Final = timedelta(days=1)
MOST_BRIEF: Final = 20  # a window that replaces again and again fills no disk


class Version(Struct, frozen=True):
    """One that was in use until another took its place."""

    id: int
    until: datetime


def making_room(history: Sequence[Version]) -> list[int]:
    """Return those of one backup that make room; `history` begins with the first.

    Where a clock was set back between two, how long is told by how far they are apart.
    """
    uses = [
        (abs(version.until - before.until), version.id)
        for before, version in pairwise(history)
    ]
    brief = sorted(use for use in uses if use[0] < LONG_USE)
    return [version for _, version in brief[: max(0, len(brief) - MOST_BRIEF)]]
