"""What is to be known of a signed transaction: its id, and that signing kept it."""

import hashlib
from typing import Final

_WITNESS: Final = b"\x00\x01"
_VERSION, _OUTPOINT, _SEQUENCE, _VALUE, _LOCKTIME = 4, 36, 4, 8, 4
# What precedes longer numbers, and how many bytes they have.
_LONGER: Final = {0xFD: 2, 0xFE: 4, 0xFF: 8}


def txid_of(transaction: str) -> str:
    """Return the id of a signed transaction; raise ValueError for a strange one.

    Its inputs must be native witness inputs: with others, signing changes the id.
    """
    raw = bytes.fromhex(transaction)
    if raw[_VERSION : _VERSION + len(_WITNESS)] != _WITNESS:
        raise ValueError("the transaction has no witness")
    first = at = _VERSION + len(_WITNESS)
    inputs, at = _number(raw, at)
    for _ in range(inputs):
        script, at = _number(raw, at + _OUTPOINT)
        if script:
            raise ValueError("the transaction spends other coins than witness coins")
        at += _SEQUENCE
    outputs, at = _number(raw, at)
    for _ in range(outputs):
        script, at = _number(raw, at + _VALUE)
        at += script
    without_witness = raw[:_VERSION] + raw[first:at] + raw[-_LOCKTIME:]
    once = hashlib.sha256(without_witness).digest()
    return hashlib.sha256(once).digest()[::-1].hex()


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and where the next thing begins."""
    if at >= len(raw):
        raise ValueError("the transaction is too short")
    if length := _LONGER.get(raw[at], 0):
        end = at + 1 + length
        return int.from_bytes(raw[at + 1 : end], "little"), end
    return raw[at], at + 1
