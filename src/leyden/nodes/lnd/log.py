"""Efficient search for the few lines of lnd's log that matter.

The owner is notified of one kind; another has the height of the last block.

lnd logs `[ERR] GRPH: out of order block: expecting height=9, got height=7`
if its chain backend reports blocks in the wrong order; it should be
restarted soon. A peer can write text into other lines (aliases, error
messages), so a line counts only if it matches in full.
"""

import re
from datetime import timedelta
from typing import Final

QUIET: Final = timedelta(minutes=10)  # errors closer together count as one burst
_TELLTALE = b"[ERR] GRPH: out of order block: "
_LINE = re.compile(
    rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[ERR\] GRPH: out of order block: "
    rb"expecting height=\d{1,10}, got height=\d{1,10}"
)


# lnd logs the first at each block, the second once after a start.
_TELLTALES: Final = (
    b"[INF] NTFN: New block: height=",
    b"[INF] LTND: Chain backend is fully synced! ",
)
_BLOCK = re.compile(
    rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[INF\] (?:"
    rb"NTFN: New block: height=(\d{1,9}), sha=[0-9a-f]{64}"
    rb"|LTND: Chain backend is fully synced! (?:rev=\"\" )?end_height=(\d{1,9}))"
)


def last_height(content: bytes) -> int | None:
    """Return the height of the last block in whole lines of lnd's log."""
    place = max(content.rfind(each) for each in _TELLTALES)
    if place < 0:
        return None
    start = content.rfind(b"\n", 0, place) + 1
    end = content.find(b"\n", place)
    match = _BLOCK.fullmatch(content, start, end if end >= 0 else len(content))
    return int(match[1] or match[2]) if match else None


def out_of_order(content: bytes) -> list[str]:
    """Return lnd's out-of-order errors in whole lines of its log."""
    if _TELLTALE not in content:  # almost always; 1 MiB takes 0.1 ms
        return []
    return [line.decode() for line in content.split(b"\n") if _LINE.fullmatch(line)]
