"""The counter of a node's starts, a file in its folder."""

from pathlib import Path

from leyden.base.files import write_private
from leyden.nodes.rules.starts import NEVER, Start, next_number


def read(path: Path) -> Start:
    """Return the number of the last start; none if no start was counted."""
    try:
        # A copy has another inode; a file keeps its inode while it exists.
        with path.open() as file:
            return Start(number=int(file.read()), copy=f"{path.stat().st_ino}")
    except (FileNotFoundError, ValueError):
        return NEVER


def count(path: Path, known: Start) -> None:
    """Count one more start, durably; the database is updated later."""
    write_private(path, f"{next_number(known, read(path))}\n")
