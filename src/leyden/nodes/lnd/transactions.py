"""Parse raw transactions: their ids, and their virtual sizes."""

import hashlib
from collections.abc import Iterator
from typing import Final

from leyden.values import Struct

_HEADER: Final = 80  # of a block
_VERSION: Final = 4
_LOCK_TIME: Final = 4
_OUTPOINT: Final = 36
_SEQUENCE: Final = 4
_SATS: Final = 8
_WITNESS_FACTOR: Final = 4
_MARKER: Final = 2  # and flag, before the inputs of a transaction with witnesses


class _Found(Struct, frozen=True):
    stripped: bytes  # without witnesses
    end: int
    sats: tuple[int, ...]  # of the outputs

    @property
    def id(self) -> str:
        """The transaction's id."""
        digest = hashlib.sha256(hashlib.sha256(self.stripped).digest()).digest()
        return digest[::-1].hex()


def virtual_size(raw: bytes) -> int:
    """Return the size in vbytes; raise ValueError if it is not a transaction."""
    try:
        found = _read(raw, 0)
    except IndexError:
        raise ValueError("not a transaction") from None
    weight = len(found.stripped) * (_WITNESS_FACTOR - 1) + len(raw)
    return -(-weight // _WITNESS_FACTOR)


def transaction_ids(block: bytes) -> Iterator[str]:
    """Yield the ids of a block's transactions."""
    return (found.id for found in _transactions(block))


def outputs_of(block: bytes, txid: str) -> tuple[int, ...] | None:
    """Return the satoshis of a transaction's outputs; None if the block lacks it."""
    return next((each.sats for each in _transactions(block) if each.id == txid), None)


def _transactions(block: bytes) -> Iterator[_Found]:
    count, at = _number(block, _HEADER)
    for _ in range(count):
        found = _read(block, at)
        at = found.end
        yield found


def _read(raw: bytes, begins: int) -> _Found:
    at = begins + _VERSION
    has_witnesses = raw[at] == 0
    first = at = at + _MARKER if has_witnesses else at
    inputs, at = _number(raw, at)
    for _ in range(inputs):
        script, at = _number(raw, at + _OUTPOINT)
        at += script + _SEQUENCE
    outputs, at = _number(raw, at)
    sats = []
    for _ in range(outputs):
        sats.append(int.from_bytes(raw[at : at + _SATS], "little"))
        script, at = _number(raw, at + _SATS)
        at += script
    last = at
    for _ in range(inputs if has_witnesses else 0):
        items, at = _number(raw, at)
        for _ in range(items):
            item, at = _number(raw, at)
            at += item
    end = at + _LOCK_TIME
    stripped = raw[begins : begins + _VERSION] + raw[first:last] + raw[at:end]
    return _Found(stripped, end, tuple(sats))


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Return a compact-size integer, and the position after it."""
    first = raw[at]
    length = {0xFD: 2, 0xFE: 4, 0xFF: 8}.get(first)
    if length is None:
        return first, at + 1
    return int.from_bytes(raw[at + 1 : at + 1 + length], "little"), at + 1 + length
