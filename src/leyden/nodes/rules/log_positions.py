"""How far the log of a node's lnd was read; see nodes/lnd/tail.py."""

from typing import Final

from leyden.values import Struct


class LogPosition(Struct, frozen=True):
    """The read position in a log: which file, and up to which byte."""

    inode: int = 0
    offset: int = 0
    head: bytes = b""
    rotated: int = 0  # the number of the newest rotated file at that time


BEGINNING: Final = LogPosition()  # before the very first line
END: Final = LogPosition(offset=-1)  # after the last line at the time of the read
