"""Why an lnd ended, from its own last words.

An owner who calls `/v1/stop` wants his node to stay stopped; whoever else ends it does
not. The exit code cannot tell them apart: lnd answers a signal (a machine that shuts
down), and even most errors it calls critical, with a graceful end and code 0. And of a
process that we adopted we do not learn the code at all.

    [INF] LTND: Received shutdown request.    the owner, or lnd itself after [CRT]
    [INF] LTND: Received terminated           a signal

Peers can put words into lnd's log, so a line counts from its first character to its
last; what they could gain by forging one is that a node is started again.
"""

import re
from pathlib import Path
from typing import Final

LAST_BYTES: Final = 64 * 1024

_LINE = re.compile(
    rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} "
    rb"(?:\[INF\] LTND: Received (?P<cause>[a-z ]+)\.?|\[CRT\] [A-Z]{4}: .*)"
)
_REQUEST = b"shutdown request"
# A critical error asks for the shutdown within the same breath.
_LINES_BEFORE = 200


def was_asked(words: bytes, code: int | None) -> bool:
    """Tell whether its owner ended it; `words` are the last ones of its log.

    A code of None is unknown. Where the log says nothing (its owner may have silenced
    it), code 0 is taken for a wish.
    """
    lines = words.split(b"\n")
    for number in range(len(lines) - 1, -1, -1):
        match = _LINE.fullmatch(lines[number])
        if match is None:
            continue
        if match["cause"] != _REQUEST:
            return False  # a signal, or a critical error after which it just died
        before = lines[max(0, number - _LINES_BEFORE) : number]
        return code in {0, None} and not any(map(_is_critical, before))
    return code == 0


def last_words(log: Path) -> bytes:
    """Read the end of a log; nothing when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - LAST_BYTES))
            return file.read(LAST_BYTES)
    except OSError:
        return b""


def _is_critical(line: bytes) -> bool:
    match = _LINE.fullmatch(line)
    return match is not None and match["cause"] is None
