"""Find out from the end of its log why an lnd exited.

An owner who calls `/v1/stop` wants the node to stay stopped; after any other
exit it is restarted. The exit code can't distinguish the two: lnd exits with
code 0 after a signal (a machine that shuts down) and even after most critical
errors. And the exit code of a process that we adopted is unknown.

    [INF] LTND: Received shutdown request.    the owner, or lnd itself after [CRT]
    [INF] LTND: Received terminated           a signal
    [INF] LTND: Version Info version=0.20.2   lnd starts: what is above is another's

The log is continued by the next lnd, and one that is killed writes nothing at its end.

Peers can write text into lnd's log, so a line counts only if it matches in
full; by forging one, a peer could only cause a restart of the node, or prevent
one.
"""

import re
from pathlib import Path
from typing import Final

from leyden.nodes.lnd import home

LAST_BYTES: Final = 64 * 1024

_LINE = re.compile(
    rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} "
    rb"(?:\[INF\] LTND: Received (?P<cause>[a-z ]+)\.?|\[CRT\] [A-Z]{4}: .*)"
)
_START = re.compile(
    rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} "
    rb"\[INF\] LTND: Version(?: Info version=|: )[0-9].*"
)
_REQUEST = b"shutdown request"
# After a critical error lnd requests its own shutdown within a few lines.
_LINES_BEFORE = 200


def stopped_by_owner(words: bytes, code: int | None) -> bool:
    """Return whether the owner stopped lnd; `words` is the end of its log.

    A code of None is unknown. If this lnd wrote no such line (its owner may have
    turned the log off), code 0 counts as a stop by the owner.
    """
    lines = _own_lines(words)
    for number in range(len(lines) - 1, -1, -1):
        match = _LINE.fullmatch(lines[number])
        if match is None:
            continue
        if match["cause"] != _REQUEST:
            return False  # a signal, or a critical error without a shutdown
        before = lines[max(0, number - _LINES_BEFORE) : number]
        return code in {0, None} and not any(map(_is_critical, before))
    return code == 0


def log_end(log: Path) -> bytes:
    """Return the end of a log; empty if there is none, or behind a link."""
    try:
        with home.open_theirs(log) as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - LAST_BYTES))
            return file.read(LAST_BYTES)
    except OSError:
        return b""


def _own_lines(words: bytes) -> list[bytes]:
    """Return the lines that the last lnd wrote, without those of earlier ones."""
    lines = words.split(b"\n")
    for number in range(len(lines) - 1, -1, -1):
        if _START.fullmatch(lines[number]):
            return lines[number:]
    return lines


def _is_critical(line: bytes) -> bool:
    match = _LINE.fullmatch(line)
    return match is not None and match["cause"] is None
