"""A reader for the lengths of DER elements that skips their contents.

`Der(data).enter(SEQUENCE).integer_bits()` is the length of the first number inside.
"""

from typing import Final

INTEGER: Final = 0x02
OCTETS: Final = 0x04
NAME: Final = 0x06
SEQUENCE: Final = 0x30
_LONG = 0x80  # the length takes as many bytes as the other bits say
_MOST_LENGTH_BYTES = 3


class Der:
    """A part of a DER file; its methods raise ValueError if it is invalid."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def tag(self) -> int:
        """Return the next element's tag, 0 at the end."""
        return self._data[self._at] if self._at < len(self._data) else 0

    def take(self, tag: int) -> bytes:
        """Return the next element's content and skip the element."""
        if self.tag() != tag:
            raise ValueError("another tag")
        at, length = self._length(self._at + 1)
        if at + length > len(self._data):
            raise ValueError("too short")
        self._at = at + length
        return self._data[at : at + length]

    def enter(self, tag: int) -> "Der":
        """Return a reader for the next element's content."""
        return Der(self.take(tag))

    def integer_bits(self) -> int:
        """Return the bit length of the next integer and skip it."""
        content = self.take(INTEGER).lstrip(b"\0")
        return len(content) * 8 - (8 - content[0].bit_length() if content else 0)

    def _length(self, at: int) -> tuple[int, int]:
        if at >= len(self._data):
            raise ValueError("too short")
        first, at = self._data[at], at + 1
        if first < _LONG:
            return at, first
        count = first - _LONG
        if not 0 < count <= _MOST_LENGTH_BYTES:
            raise ValueError("no length")
        return at + count, int.from_bytes(self._data[at : at + count])
