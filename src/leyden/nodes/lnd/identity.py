"""Read a node's public key from its lnd's graph database.

lnd's API does not return its public key without a macaroon. But once the wallet was
unlocked for the first time, the key is in `channel.db`: a bbolt file, bucket
`graph-node`, key `source`. It can be read from there even if the wallet is locked.

lnd may write to the file at the same time. bbolt copies pages before it changes them,
and the newest meta page with a valid checksum leads to pages that stay unchanged for a
while. What is read is validated anyway, and a missing page means that there is no key.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from leyden.nodes.lnd import home
from leyden.nodes.rules import public_keys

_MAGIC: Final = 0xED0CDAED
_VERSION: Final = 2
_META: Final = struct.Struct("<IIIIQQQQQQ")  # from the magic to the checksum
_HEADER: Final = struct.Struct("<QHHI")  # id, flags, elements, overflow pages
_BRANCH: Final = struct.Struct("<IIQ")  # offset and length of the key, child page
_LEAF: Final = struct.Struct("<IIII")  # flags, offset, lengths of key and value
_BUCKET: Final = struct.Struct("<QQ")  # root page, sequence number
_IS_BRANCH, _IS_LEAF = 0x01, 0x02
_PAGE_SIZES: Final = frozenset(2**power for power in range(9, 17))
_MAX_PAGES: Final = 64  # overflow pages of a page, and levels of the tree

_NODES: Final = b"graph-node"
_OWN: Final = b"source"


class _NoFile(Exception):
    """The file is not a bbolt database, or is being written."""


def read(channel_db: Path) -> str:
    """Return the node's public key in hex; "" if the file does not have it (yet)."""
    try:
        with home.open_theirs(channel_db) as file:
            found = _Database(file.fileno()).value(_NODES, _OWN).hex()
    except (OSError, struct.error, _NoFile):
        return ""
    return found if public_keys.is_valid(found) else ""


class _Database:
    """A bbolt file that lnd may be writing to."""

    def __init__(self, file: int) -> None:
        self._file = file
        first = os.pread(file, _HEADER.size + _META.size, 0)
        size = _META.unpack_from(first, _HEADER.size)[2]
        if size not in _PAGE_SIZES:
            raise _NoFile
        self._size = size
        self._pages = os.fstat(file).st_size // size
        metas = [each for each in (self._meta(0), self._meta(1)) if each]
        if not metas:
            raise _NoFile
        self._root = max(metas)[1]

    def value(self, bucket: bytes, key: bytes) -> bytes:
        """Return the value of a key in a top-level bucket."""
        found = self._find(self._page(self._root), bucket)
        root, _ = _BUCKET.unpack_from(found)
        page = self._page(root) if root else found[_BUCKET.size :]  # an inline bucket
        return self._find(page, key)

    def _meta(self, number: int) -> tuple[int, int] | None:
        """Return the transaction id and the root page in a meta page."""
        raw = os.pread(self._file, _META.size, number * self._size + _HEADER.size)
        if len(raw) < _META.size:
            return None
        magic, version, size, _, root, _, _, _, transaction, checksum = _META.unpack(
            raw
        )
        is_right = (magic, version, size) == (_MAGIC, _VERSION, self._size)
        if not is_right or checksum != _fnv(raw[:-8]):
            return None
        return transaction, root

    def _page(self, number: int) -> bytes:
        if number >= self._pages:
            raise _NoFile
        at = number * self._size
        header = os.pread(self._file, _HEADER.size, at)
        more = _HEADER.unpack(header)[3]
        if more > _MAX_PAGES:
            raise _NoFile
        return os.pread(self._file, (more + 1) * self._size, at)

    def _find(self, page: bytes, key: bytes) -> bytes:
        for _ in range(_MAX_PAGES):
            _, flags, count, _ = _HEADER.unpack_from(page)
            if flags & _IS_LEAF:
                for name, value in _leaves(page, count):
                    if name == key:
                        return value
                raise _NoFile
            if not flags & _IS_BRANCH or not count:
                raise _NoFile
            page = self._page(_below(page, count, key))
        raise _NoFile


def _leaves(page: bytes, count: int) -> Iterator[tuple[bytes, bytes]]:
    for number in range(count):
        at = _HEADER.size + number * _LEAF.size
        _, offset, key, value = _LEAF.unpack_from(page, at)
        middle = at + offset + key
        yield page[at + offset : middle], page[middle : middle + value]


def _below(page: bytes, count: int, key: bytes) -> int:
    """Return the child page of a branch in which the key would be."""
    found = 0
    for number in range(count):
        at = _HEADER.size + number * _BRANCH.size
        offset, length, below = _BRANCH.unpack_from(page, at)
        if number and page[at + offset : at + offset + length] > key:
            break
        found = below
    return int(found)


def _fnv(raw: bytes) -> int:
    """Return the 64-bit FNV-1a hash, bbolt's checksum of meta pages."""
    found = 0xCBF29CE484222325
    for byte in raw:
        found = (found ^ byte) * 0x100000001B3 % 2**64
    return found
