"""Decide which replaced backups to delete when the history is full.

Someone who stole a node's API key can replace a backup with garbage again and again. If
the oldest versions were deleted first, twenty replacements would delete the original.
So the first backup is never deleted, nor one that was in use for a day. Of the others,
those that were in use for the shortest time are deleted first.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from leyden.values import Struct

LONG_USE: Final = timedelta(days=1)
MAX_BRIEF: Final = 20  # so that an attacker can't fill the disk


class BackupVersion(Struct, frozen=True):
    """A backup that was in use until it was replaced."""

    id: int
    until: datetime


def versions_to_delete(history: Sequence[BackupVersion]) -> list[int]:
    """Return the ids of versions to delete; `history` is in order, oldest first.

    The duration of use is an absolute difference, because a clock may be set back.
    """
    uses = [
        (abs(version.until - before.until), version.id)
        for before, version in pairwise(history)
    ]
    brief = sorted(use for use in uses if use[0] < LONG_USE)
    return [version for _, version in brief[: max(0, len(brief) - MAX_BRIEF)]]
