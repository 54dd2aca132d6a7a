"""The ports at which peers reach nodes: the operator's ranges.

A node keeps its port for its life, because peers remember it. A released port can be
reused by the same organization at once, and by others after `KEPT_FROM_OTHERS`: until
then peers still connect to it for the old node.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Final

from leyden.errors import Malformed
from leyden.values import Struct

KEPT_FROM_OTHERS: Final = timedelta(days=30)
NONE: Final = "none"  # the setting's word for no ports
_HIGHEST: Final = 65_535
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


class PeerPorts(Struct, frozen=True):
    """The ports that nodes may get, as inclusive ranges."""

    ranges: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def __contains__(self, port: int) -> bool:
        return any(first <= port <= last for first, last in self.ranges)

    def at(self, index: int) -> int:
        """Return the port at this index over all ranges."""
        for first, last in self.ranges:
            if index <= last - first:
                return first + index
            index -= last - first + 1
        raise IndexError(index)

    def __iter__(self) -> Iterator[int]:
        for first, last in self.ranges:
            yield from range(first, last + 1)


def parse(text: str) -> PeerPorts:
    """Parse comma-separated ports and ranges, or `none`."""
    if text.strip() == NONE:
        return PeerPorts()
    ranges = sorted(_range(word.strip()) for word in text.split(",") if word.strip())
    for (_, last), (first, _) in pairwise(ranges):
        if first <= last:
            raise Malformed(f"port {first} is listed twice")
    return PeerPorts(tuple(ranges))


def host_port(host: str, port: int) -> str:
    """Return HOST:PORT or [HOST]:PORT; empty without a host."""
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}" if host else ""


def _range(word: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(word)
    first = int(match[1]) if match else 0
    last = int(match[2] or first) if match else 0
    if not 1 <= first <= last <= _HIGHEST:
        raise Malformed(f"{word!r} is not a port or a range like 21000-21999")
    return first, last
