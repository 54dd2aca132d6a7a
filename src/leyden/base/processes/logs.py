"""Limit the size of output files that programs never close."""

import os
from pathlib import Path

from leyden.base.files import PRIVATE, draft

_COPY_BYTES = 1 << 20


def cap(log: Path, *, most_bytes: int) -> bool:
    """Copy a file that is too large to NAME.1 and truncate it; return whether it was.

    The program keeps writing: the file is open for appending, so it continues at the
    new end. A line that is written between copying and truncating is lost.
    """
    try:
        if log.stat().st_size <= most_bytes:
            return False
        old = log.with_name(log.name + ".1")
        with (
            log.open("rb") as source,
            draft(old, mode=PRIVATE, lasting=False) as copy,
        ):
            # Only the end: an unattended file may be of any size.
            source.seek(max(0, log.stat().st_size - most_bytes))
            while data := source.read(_COPY_BYTES):
                copy.write(data)
        os.truncate(log, 0)
    except FileNotFoundError:
        return False
    return True
