"""Tables that fit the terminal; a cell is never truncated or wrapped.

Cells are meant to be copied. A table wider than the terminal omits the
columns that can be spared. If that is not enough, each row becomes a block
of lines. In a file or a pipe, lines are as long as needed.
"""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len

Row = Mapping[str, str]

_GAP = "  "


def room() -> int | None:
    """Return the terminal's width in columns; None without a terminal."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if is_terminal else None


def drawn(
    rows: Sequence[Row], *, room: int | None, spare: Sequence[str] = ()
) -> Iterator[str]:
    """Yield a table's lines; `spare` names omittable columns in order."""
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
    """Yield one object's lines, one field each; long sentences wrap."""
    width = max(map(cell_len, row))
    for name, value in row.items():
        first, *others = _folded(value or "-", room and room - width - len(_GAP))
        yield f"{_padded(name, width)}{_GAP}{first}"
        for line in others:
            yield f"{_padded('', width)}{_GAP}{line}"


def _folded(text: str, room: int | None) -> list[str]:
    """Wrap sentences at words; leave other text, which is copied, whole."""
    if room is None or room < max(map(cell_len, text.split() or [""])):
        return [text]
    return textwrap.wrap(text, room, break_on_hyphens=False) or [text]


def _blocks(rows: Sequence[Row], room: int) -> Iterator[str]:
    for index, row in enumerate(rows):
        if index:
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
