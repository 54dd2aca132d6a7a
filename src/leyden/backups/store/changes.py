"""Changes of a SQLite database between two backups, encrypted, one object for some.

A chain is changes without a gap, numbered from 1. Each chain has a key of its own:
AES-256-GCM encrypts each object under its chain and number, so that none can be read,
altered or put in place of another. The key is with them, encrypted by age to the
recovery key. The chain's name is a digest of its key: another one's does not fit.
"""

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from leyden.errors import SetupError
from leyden.values import Struct, hiding

KEY: Final = "key.age"
KEY_BYTES: Final = 32
_NONCE: Final = 12
_HEAD: Final = struct.Struct(">I")
_QUICKLY: Final = 1  # compression: pages shrink by half at 100 MB a second
_DIGITS: Final = 10
_PART: Final = 1 << 25  # bytes of pages in one object


class PagesHeader(Struct, frozen=True, kw_only=True):
    """What an object begins with: which pages it has, and of what moment."""

    made: float
    page_size: int
    length: int  # of the database then, in pages
    numbers: list[int]
    whole: bool  # without those that follow it there is only a half of a commit


class ChangeChain(Struct, frozen=True):
    """The key of a chain."""

    key: bytes

    __repr__ = hiding("key")

    @property
    def name(self) -> str:
        """The chain's name."""
        return hashlib.sha256(self.key).hexdigest()[:32]

    def object_name(self, number: int) -> str:
        """Return the name of an object of this chain."""
        return object_name(self.name, number)

    def seal(self, number: int, content: bytes) -> bytes:
        """Encrypt an object."""
        nonce = os.urandom(_NONCE)
        about = self.object_name(number).encode()
        return nonce + AESGCM(self.key).encrypt(nonce, content, about)

    def open(self, number: int, sealed: bytes) -> bytes:
        """Decrypt an object; raise SetupError for one that is damaged or another's."""
        name = self.object_name(number)
        try:
            return AESGCM(self.key).decrypt(
                sealed[:_NONCE], sealed[_NONCE:], name.encode()
            )
        except (InvalidTag, ValueError):
            raise SetupError(f"changes/{name} is damaged") from None


def new_chain() -> ChangeChain:
    """Create a chain."""
    return ChangeChain(os.urandom(KEY_BYTES))


def object_name(chain: str, number: int) -> str:
    """Return the name of an object."""
    return f"{chain}/{number:0{_DIGITS}}"


def number_of(name: str) -> int | None:
    """Return the number of an object by its name; None for the key."""
    last = name.rpartition("/")[2]
    return int(last) if last.isdecimal() else None


def pack(
    pages: dict[int, bytes], *, page_size: int, length: int, made: float
) -> Iterator[bytes]:
    """Yield the contents of the objects for some pages: mostly one."""
    numbers = sorted(pages)
    per_object = max(1, _PART // page_size)
    for at in range(0, len(numbers), per_object):
        part = numbers[at : at + per_object]
        head = msgspec.json.encode(
            PagesHeader(
                made=made,
                page_size=page_size,
                length=length,
                numbers=part,
                whole=at + per_object >= len(numbers),
            )
        )
        body = zlib.compress(b"".join(pages[each] for each in part), _QUICKLY)
        yield _HEAD.pack(len(head)) + head + body


def unpack(content: bytes) -> tuple[PagesHeader, bytes]:
    """Return which pages an object has, and the pages."""
    (size,) = _HEAD.unpack_from(content)
    head = msgspec.json.decode(
        content[_HEAD.size : _HEAD.size + size], type=PagesHeader
    )
    return head, zlib.decompress(content[_HEAD.size + size :])


class ChangeTarget:
    """A closed database that changes are applied to, all of a commit or nothing."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("r+b")
        self._commit: list[tuple[PagesHeader, bytes]] = []
        self.made = 0.0  # of what moment the database is

    def apply(self, content: bytes) -> None:
        """Write the pages of an object, once all of their commit are there."""
        head, pages = unpack(content)
        self._commit.append((head, pages))
        if head.whole:
            for each, of_it in self._commit:
                self._write(each, of_it)
            self._file.truncate(head.length * head.page_size)
            self._commit, self.made = [], head.made

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, head: PagesHeader, pages: bytes) -> None:
        size, view = head.page_size, memoryview(pages)
        begin = 0
        for at, number in enumerate(head.numbers, start=1):
            if at == len(head.numbers) or head.numbers[at] != number + 1:
                first = head.numbers[begin] - 1
                self._file.seek(first * size)
                self._file.write(view[begin * size : at * size])
                begin = at
