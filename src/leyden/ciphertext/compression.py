"""Detection and decompression of compressed bytes.

Compressed bytes are as evenly distributed as ciphertext, but readable once
they are decompressed.
"""

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from leyden.ciphertext.randomness import is_text

MOST_INFLATED: Final = 65_536  # a bomb is inflated no further
_GZIP, _BARE = 31, -15  # zlib's window bits for gzip, and for deflate with no head
_PIECE = 8
_FEWEST_VALUES = 12  # fewer than any secret has; what ciphertext "inflates" to has less
_MEMORY = 1 << 24  # xz may ask for gigabytes
# What the standard library cannot open, and other files that are no ciphertext.
_PACKED: Final = (
    b"\xfd7zXZ\x00",  # that asks for more memory than it gets
    b"\x28\xb5\x2f\xfd",  # zstd
    b"\x04\x22\x4d\x18",  # lz4
    b"PK\x03\x04",  # zip
    b"7z\xbc\xaf",
    b"Rar!\x1a\x07",
    b"\x89PNG\r\n",
    b"\xff\xd8\xff\xe0",  # jpeg
    b"%PDF-",
    b"SQLite format 3\x00",
)


class _Inflater(Protocol):
    """The interface that the three libraries have in common."""

    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


_INFLATERS: Final[tuple[tuple[re.Pattern[bytes], Callable[[], _Inflater]], ...]] = (
    (re.compile(rb"[\x08\x18\x28\x38\x48\x58\x68\x78]"), zlib.decompressobj),
    (re.compile(rb"\x1f\x8b"), lambda: zlib.decompressobj(_GZIP)),
    (re.compile(rb"BZh"), bz2.BZ2Decompressor),
    (
        re.compile(rb"\xfd7zXZ|\x5d\x00\x00"),
        lambda: lzma.LZMADecompressor(memlimit=_MEMORY),
    ),
    (re.compile(rb""), lambda: zlib.decompressobj(_BARE)),
)


def decompress(data: bytes) -> Iterator[tuple[bytes, bool]]:
    """Decompress up to a limit in every matching format.

    Yield the bytes, and whether they really were in that format. Ciphertext
    sometimes passes for the beginning of bare deflate and yields repetition
    ("vivivivi..."). A result counts if its checksum is right, if it is a
    decompression bomb, or if it is text throughout.
    """
    for head, make in _INFLATERS:
        if head.match(data):
            inside, read, ended = _until_it_breaks(make(), data)
            bomb = len(inside) >= MOST_INFLATED
            real = (ended or bomb) and bool(head.pattern)
            whole = read >= len(data) - _PIECE and len(set(inside)) >= _FEWEST_VALUES
            if real or (whole and (ended or is_text(inside))):
                yield inside, real or is_text(inside)


def is_compressed(data: bytes) -> bool:
    """Return whether these bytes are compressed, or a file of another known kind."""
    return data.startswith(_PACKED) or any(real for _, real in decompress(data))


def _until_it_breaks(inflater: _Inflater, data: bytes) -> tuple[bytes, int, bool]:
    """Decompress in pieces: a bad final checksum must not hide the rest."""
    inside = bytearray()
    for start in range(0, len(data), _PIECE):
        try:
            inside += inflater.decompress(
                data[start : start + _PIECE], MOST_INFLATED - len(inside)
            )
        except (zlib.error, lzma.LZMAError, OSError, ValueError):
            return bytes(inside), start, False
        if inflater.eof or len(inside) >= MOST_INFLATED:
            return bytes(inside), start + _PIECE, inflater.eof
    return bytes(inside), len(data), False
