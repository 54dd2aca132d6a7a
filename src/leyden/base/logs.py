"""Formatting of log lines: one per record, for our code and libraries alike.

    log = logging.getLogger(__name__)
    log.info("the gateway was started", extra={"pid": 4711})

What is in `extra` is shown as values. A traceback shows no local variables, which may
be secrets, and a value shows its `repr`, which leaves secrets out (`values.hiding`).
"""

import json
import logging
import logging.config
import sys
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO

from leyden.base import request_ids

_COLOURS: Final = {"debug": 2, "info": 32, "warning": 33, "error": 31, "critical": 31}
_QUOTED: Final = frozenset(" \t\r\n=\"'")
_OURS: Final = "leyden"
# What every record has. The rest of it came by `extra`.
_STANDARD: Final = frozenset(
    [*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"]
)
_encode: Final = json.JSONEncoder(default=repr).encode

Level = Literal["debug", "info", "warning", "error"]
Form = Literal["text", "json"]


def configure(*, form: Form, level: Level, stream: TextIO | None = None) -> None:
    """Configure logging of this process; a second call replaces the first.

    Libraries are heard from WARNING on, whatever our own level.
    """
    stream = stream or sys.stderr
    formatters: dict[Form, dict[str, object]] = {
        "text": {"()": TextFormatter, "is_coloured": stream.isatty()},
        "json": {"()": JsonFormatter},
    }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": formatters,
            "handlers": {"lines": {"()": Lines, "stream": stream, "formatter": form}},
            "root": {"level": "WARNING", "handlers": ["lines"]},
            "loggers": {_OURS: {"level": level.upper()}},
        }
    )
    logging.captureWarnings(capture=True)


class Lines(logging.StreamHandler[TextIO]):
    """A handler that drops lines which the stream does not take."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Ignore a disk that is full and a reader that has gone.

        Neither may undo what was logged about: a request was answered 500 for it, and
        a payment would not have been booked. Everything else is a mistake in a line: it
        is printed to standard error, and raises nothing either.
        """
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


class TextFormatter(logging.Formatter):
    """Formats a record as a line for people, with a traceback in lines after it."""

    def __init__(self, *, is_coloured: bool = False) -> None:
        super().__init__()
        self._is_coloured = is_coloured

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        name = record.levelname.lower()
        level = f"{name:9}"
        if self._is_coloured:
            level = f"\x1b[{_COLOURS.get(name, 0)}m{level}\x1b[0m"
        event = _escaped(record.getMessage())
        values = _values(record)
        if record.name.partition(".")[0] != _OURS:
            values["logger"] = record.name
        shown = " ".join(f"{name}={_shown(value)}" for name, value in values.items())
        line = f"{_timestamp(record)} [{level}] {event:30} {shown}".rstrip()
        return "\n".join([line, *_trace(self, record)])


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object."""
        line = {
            **_values(record),
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "timestamp": _timestamp(record),
        }
        if trace := _trace(self, record):
            line["exception"] = "\n".join(trace)
        return _encode(line)


def _values(record: logging.LogRecord) -> dict[str, Any]:
    values = {n: each for n, each in vars(record).items() if n not in _STANDARD}
    if request_id := request_ids.current():
        values["request_id"] = request_id
    return values


def _timestamp(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    trace = []
    if record.exc_info and record.exc_info[0] is not None:
        trace.append(formatter.formatException(record.exc_info))
    if record.stack_info:
        trace.append(formatter.formatStack(record.stack_info))
    return trace


def _escaped(text: str) -> str:
    """Return text on one line, so that what others said cannot make up lines."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _shown(value: object) -> str:
    """Return a value on one line, in quotes where a reader would not see its end."""
    if isinstance(value, str) and value.isprintable() and not _QUOTED & set(value):
        return str(value)
    return repr(value)
