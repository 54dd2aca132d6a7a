"""Rows as a table that fits: a cell is never cut or folded, since it is copied.

A table that is wider than the terminal loses the columns that can be spared. Where
that is not enough each row becomes a block of lines. In a file or a pipe a line is as
long as it has to be.
"""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len

Row = Mapping[str, str]

_GAP = "  "


def room() -> int | None:
    """Give how many columns the terminal has; None where nobody looks at one."""
    seen = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if seen else None


def drawn(
    rows: Sequence[Row], *, room: int | None, spare: Sequence[str] = ()
) -> Iterator[str]:
    """Give the lines of a table; `spare` names what may be left out, first to last."""
    names = list(rows[0])
    if room is not None:
        for name in spare:
            if _width(rows, names) <= room:
                break
            names.remove(name)
        if _width(rows, names) > room:
            yield from _blocks(rows, room)
            return
    widths = [_widest(rows, name) for name in names]
    yield _line(names, widths)
    for row in rows:
        yield _line([row[name] for name in names], widths)


def fields(row: Row, *, room: int | None) -> Iterator[str]:
    """Give one thing, a field a line; sentences go on below where they began."""
    width = max(map(cell_len, row))
    for name, value in row.items():
        first, *others = _folded(value or "-", room and room - width - len(_GAP))
        yield f"{_padded(name, width)}{_GAP}{first}"
        for line in others:
            yield f"{_padded('', width)}{_GAP}{line}"


def _folded(text: str, room: int | None) -> list[str]:
    """Fold at words what is words; anything else is copied, and stays one line."""
    if room is None or room < max(map(cell_len, text.split() or [""])):
        return [text]
    return textwrap.wrap(text, room, break_on_hyphens=False) or [text]


def _blocks(rows: Sequence[Row], room: int) -> Iterator[str]:
    for place, row in enumerate(rows):
        if place:
            yield ""
        yield from fields(row, room=room)


def _width(rows: Sequence[Row], names: Sequence[str]) -> int:
    return sum(_widest(rows, name) for name in names) + len(_GAP) * (len(names) - 1)


def _widest(rows: Sequence[Row], name: str) -> int:
    return max(cell_len(name), *(cell_len(row[name]) for row in rows))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(map(_padded, cells, widths)).rstrip()


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
