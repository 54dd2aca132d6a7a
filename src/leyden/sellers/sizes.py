"""The virtual size of a transaction, from its bytes: what its fee is paid for."""

from typing import Final

_VERSION: Final = 4
_LOCK_TIME: Final = 4
_OUTPOINT: Final = 36
_SEQUENCE: Final = 4
_SATS: Final = 8
_WITNESS_FACTOR: Final = 4
_MARKER: Final = 2  # and flag, before the inputs of a transaction with witnesses


def virtual_size(raw: bytes) -> int:
    """Return the size in vbytes; raise ValueError for what is no transaction."""
    try:
        return _virtual_size(raw)
    except IndexError:
        raise ValueError("not a transaction") from None


def _virtual_size(raw: bytes) -> int:
    at = _VERSION
    if raw[at] != 0:
        return len(raw)  # no witnesses
    at += _MARKER
    inputs, at = _number(raw, at)
    for _ in range(inputs):
        script, at = _number(raw, at + _OUTPOINT)
        at += script + _SEQUENCE
    outputs, at = _number(raw, at)
    for _ in range(outputs):
        script, at = _number(raw, at + _SATS)
        at += script
    stripped = at - _MARKER + _LOCK_TIME
    weight = stripped * (_WITNESS_FACTOR - 1) + len(raw)
    return -(-weight // _WITNESS_FACTOR)


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Return a compact number, and where the bytes after it begin."""
    first = raw[at]
    length = {0xFD: 2, 0xFE: 4, 0xFF: 8}.get(first)
    if length is None:
        return first, at + 1
    return int.from_bytes(raw[at + 1 : at + 1 + length], "little"), at + 1 + length
