"""Output files of programs that never close them."""

import os
from pathlib import Path

from leyden.files import PRIVATE, draft

_COPY_BYTES = 1 << 20


def cap(log: Path, *, most_bytes: int) -> bool:
    """Move a file that has grown too large to NAME.1 and empty it; return whether.

    The program keeps writing: it has the file open for appending, so it goes on at the
    new end. A line written between the copy and the emptying is lost.
    """
    try:
        if log.stat().st_size <= most_bytes:
            return False
        old = log.with_name(log.name + ".1")
        with (
            log.open("rb") as source,
            draft(old, mode=PRIVATE, lasting=False) as copy,
        ):
            # Only the end: a file that was long left alone may be any size.
            source.seek(max(0, log.stat().st_size - most_bytes))
            while data := source.read(_COPY_BYTES):
                copy.write(data)
        os.truncate(log, 0)
    except FileNotFoundError:
        return False
    return True
