"""How log lines look; never the values of local variables, which may be secrets."""

import logging
import sys
from typing import Literal, TextIO

import structlog


def configure(
    *, form: Literal["text", "json"], level: str, stream: TextIO = sys.stderr
) -> None:
    """Set up every log line of this process; the second time replaces the first."""
    plain_traceback = structlog.processors.format_exc_info
    shown: list[structlog.typing.Processor] = (
        [plain_traceback, structlog.processors.JSONRenderer()]
        if form == "json"
        else [
            structlog.dev.ConsoleRenderer(
                colors=stream.isatty(),
                exception_formatter=structlog.dev.plain_traceback,
            )
        ]
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *shown,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(
        level=logging.WARNING, stream=stream, format="%(message)s", force=True
    )
