"""How log lines look; never the values of local variables, which may be secrets.

    log = logs.get()
    log.info("the gateway was started", pid=4711)

A few lines of our own: what a library would take to import is a third of a start.
"""

import logging
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Literal, TextIO

import msgspec

from leyden.values import Struct

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_COLOURS = {"debug": 2, "info": 32, "warning": 33, "error": 31}
_QUOTED = frozenset(" \t\r\n=\"'")

Level = Literal["debug", "info", "warning", "error"]
Form = Literal["text", "json"]


class Line(Struct, frozen=True, kw_only=True):
    """One thing that is told."""

    level: Level
    event: str
    values: Mapping[str, object]
    trace: str = ""


class _Output(Struct):
    least: int
    write: Callable[[Line], None]


def _nowhere_else(line: Line) -> None:
    _put(_text(line, is_coloured=False), sys.stderr)


_output = _Output(_LEVELS["info"], _nowhere_else)


class Log:
    """What the parts of the program tell with; the output is one for all of them."""

    def debug(self, event: str, *words: object, **values: object) -> None:
        """Tell what only who looks for a fault wants to know."""
        _tell("debug", event, words, values)

    def info(self, event: str, *words: object, **values: object) -> None:
        """Tell what goes as it should."""
        _tell("info", event, words, values)

    def warning(
        self, event: str, *words: object, exc_info: bool = False, **values: object
    ) -> None:
        """Tell what the operator may want to do something about, and where it is."""
        _tell("warning", event, words, values, trace=_trace() if exc_info else "")

    def error(
        self, event: str, *words: object, exc_info: bool = False, **values: object
    ) -> None:
        """Tell what the operator has to do something about, and where it is."""
        _tell("error", event, words, values, trace=_trace() if exc_info else "")

    def exception(self, event: str, *words: object, **values: object) -> None:
        """Tell what ought not to happen, with where it did."""
        _tell("error", event, words, values, trace=_trace())


_log = Log()


def get() -> Log:
    """Give the log."""
    return _log


def configure(*, form: Form, level: Level, stream: TextIO = sys.stderr) -> None:
    """Set up every log line of this process; the second time replaces the first."""
    is_coloured = form == "text" and stream.isatty()

    def write(line: Line) -> None:
        said = _json(line) if form == "json" else _text(line, is_coloured=is_coloured)
        _put(said, stream)

    _output.least, _output.write = _LEVELS[level], write
    # What libraries tell.
    logging.basicConfig(
        level=logging.WARNING, stream=stream, format="%(message)s", force=True
    )


@contextmanager
def captured() -> Iterator[list[Line]]:
    """Keep what is told inside the block, of every level, and write nothing."""
    lines: list[Line] = []
    before = _output.least, _output.write
    _output.least, _output.write = 0, lines.append
    try:
        yield lines
    finally:
        _output.least, _output.write = before


def _tell(
    level: Level,
    event: str,
    words: tuple[object, ...],
    values: Mapping[str, object],
    *,
    trace: str = "",
) -> None:
    if _LEVELS[level] >= _output.least:
        event = event % words if words else event
        _output.write(Line(level=level, event=event, values=values, trace=trace))


def _put(said: str, stream: TextIO) -> None:
    # A disk that is full, or a reader that has gone, must not undo what is told of: a
    # request was answered 500 for it, and a payment would not have been booked.
    with suppress(OSError):
        stream.write(f"{said}\n")  # in one go: threads tell, too
        stream.flush()


def _trace() -> str:
    return traceback.format_exc().rstrip()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _text(line: Line, *, is_coloured: bool) -> str:
    level = f"{line.level:9}"
    if is_coloured:
        level = f"\x1b[{_COLOURS[line.level]}m{level}\x1b[0m"
    values = " ".join(f"{name}={_shown(value)}" for name, value in line.values.items())
    said = f"{_now()} [{level}] {line.event:30} {values}".rstrip()
    return f"{said}\n{line.trace}" if line.trace else said


def _shown(value: object) -> str:
    """Write what may hold anything on one line, so that it cannot make up others."""
    if isinstance(value, str) and value.isprintable() and not _QUOTED & set(value):
        return str(value)
    return repr(value)


def _json(line: Line) -> str:
    said = {**line.values, "event": line.event, "level": line.level}
    if line.trace:
        said["exception"] = line.trace
    return msgspec.json.encode({**said, "timestamp": _now()}, enc_hook=repr).decode()
