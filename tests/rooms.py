"""How large the rooms are: `python -m tests.rooms` prints what record 0118 shows.

Of Python in `src/`, each folder by itself. What a generator writes is not counted, nor
are templates, scripts and styles of pages.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median

from leyden.values import Struct

SOURCES = Path(__file__).parents[1] / "src/leyden"
_STATEMENT = re.compile(r"^-- name: ", re.MULTILINE)


class Room(Struct, frozen=True):
    """A folder below `src/leyden`, with all that is below it."""

    name: str
    lengths: Sequence[int]  # of its files, in lines

    @property
    def lines(self) -> int:
        """How many lines all its files have."""
        return sum(self.lengths)


def rooms() -> list[Room]:
    """Return the rooms by name; modules that are in no folder are one of their own."""
    found: dict[str, list[int]] = {}
    for path in _python():
        first, *rest = path.relative_to(SOURCES).parts
        found.setdefault(first if rest else "(modules)", []).append(_lines(path))
    return [Room(name, lengths) for name, lengths in sorted(found.items())]


def longest(limit: int) -> list[tuple[str, int]]:
    """Return the longest files, but for migrations, which are never changed."""
    files = (path for path in _python() if "migrations" not in path.parts)
    lengths = ((str(path.relative_to(SOURCES)), _lines(path)) for path in files)
    return sorted(lengths, key=lambda each: -each[1])[:limit]


def statements() -> tuple[int, int]:
    """Return how many statements there are, and on how many lines of SQL."""
    texts = [path.read_text() for path in SOURCES.rglob("*.sql")]
    found = sum(len(_STATEMENT.findall(text)) for text in texts)
    return found, sum(len(text.splitlines()) for text in texts)


def _python() -> Iterable[Path]:
    return (path for path in SOURCES.rglob("*.py") if "stubs" not in path.parts)


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def report() -> Iterator[str]:
    """Yield the rooms, the whole, the longest files and the statements."""
    every = rooms()
    complete = Room("all", [each for room in every for each in room.lengths])
    for room in (*every, complete):
        yield (
            f"{room.name:<14} {room.lines:>7,} lines {len(room.lengths):>4} files, "
            f"median {median(room.lengths):>5.1f}, longest {max(room.lengths)}"
        )
    for name, lines in longest(6):
        yield f"{lines:>4} {name}"
    number, lines = statements()
    yield f"{number} statements in {lines:,} lines of SQL"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in report())
