"""The reason why an lnd ended, from the end of its log.

An owner who calls `/v1/stop` wants the node to stay stopped; any other end
means a restart. The exit code cannot distinguish the two: lnd ends
gracefully with code 0 after a signal (a machine that shuts down), and even
after most errors that it calls critical. And the code of a process that we
adopted is unknown.

    [INF] LTND: Received shutdown request.    the owner, or lnd itself after [CRT]
    [INF] LTND: Received terminated           a signal

Peers can put words into lnd's log, so a line counts only if it matches in
full; all that peers could gain by forging one is a restart of the node.
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


def stopped_by_owner(words: bytes, code: int | None) -> bool:
    """Return whether the owner stopped lnd; `words` is the end of its log.

    A code of None is unknown. If the log says nothing (its owner may have
    silenced it), code 0 counts as the owner's wish.
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


def log_end(log: Path) -> bytes:
    """Return the end of a log; empty if there is none."""
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
