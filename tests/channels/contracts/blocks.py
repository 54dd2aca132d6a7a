"""A block by hand, for btcd's own miner pays nobody but the mining key."""

import hashlib
from collections.abc import Mapping
from typing import Any

from leyden_workshop.devnet.spending import ScriptOutput

_VERSION = 0x20000000
_HEADER = 80  # bytes
_NOWHERE = bytes(32) + b"\xff" * 4
_FINAL = b"\xff" * 4


def block_after(before: Mapping[str, Any], reward: ScriptOutput) -> bytes:
    """Find the block after this one that holds nothing but its reward."""
    coinbase = _coinbase(before["height"] + 1, reward)
    bits = int(before["bits"], 16)
    head = b"".join(
        (
            _VERSION.to_bytes(4, "little"),
            bytes.fromhex(before["hash"])[::-1],
            _twice(coinbase),
            (before["time"] + 1).to_bytes(4, "little"),
            bits.to_bytes(4, "little"),
        )
    )
    target = (bits & 0xFFFFFF) << 8 * ((bits >> 24) - 3)
    for nonce in range(2**32):
        header = head + nonce.to_bytes(4, "little")
        if int.from_bytes(_twice(header), "little") <= target:
            return header + b"\x01" + coinbase
    raise AssertionError("there is no such block")


def hash_of(block: bytes) -> str:
    """Return the hash by which calls name a block."""
    return _twice(block[:_HEADER])[::-1].hex()


def _coinbase(height: int, reward: ScriptOutput) -> bytes:
    # The height comes first (BIP 34), as a signed number.
    number = height.to_bytes(height.bit_length() // 8 + 1, "little")
    words = bytes([len(number)]) + number + b"\x00"
    return b"".join(
        (
            (1).to_bytes(4, "little"),
            b"\x01" + _NOWHERE + bytes([len(words)]) + words + _FINAL,
            b"\x01" + bytes(reward),
            bytes(4),
        )
    )


def _twice(data: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()
