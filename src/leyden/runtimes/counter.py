"""The counter of a node's starts, a file in its folder."""

from pathlib import Path

from leyden.domain.starts import NEVER, Start, next_number
from leyden.files import write_private


def read(path: Path) -> Start:
    """Return the last start; where nothing was counted, none."""
    try:
        # A copy is another file: the same one keeps its number for as long as it lives.
        with path.open() as file:
            return Start(number=int(file.read()), copy=f"{path.stat().st_ino}")
    except (FileNotFoundError, ValueError):
        return NEVER


def count(path: Path, known: Start) -> None:
    """Count one more, durably: the database hears of it later."""
    write_private(path, f"{next_number(known, read(path))}\n")
