"""Public keys of nodes: points of secp256k1, in hex."""

import re
from typing import Final

DIGITS: Final = 66
_KEY = re.compile(r"0[23][0-9a-f]{64}")
_FIELD_PRIME: Final = 2**256 - 2**32 - 977  # of secp256k1: y² = x³ + 7


def is_valid(text: str) -> bool:
    """Return whether this is a valid public key of a node, in lower case."""
    if not _KEY.fullmatch(text):
        return False
    x = int.from_bytes(bytes.fromhex(text[2:]))
    if x >= _FIELD_PRIME:
        return False
    square = (pow(x, 3, _FIELD_PRIME) + 7) % _FIELD_PRIME
    return pow(square, (_FIELD_PRIME - 1) // 2, _FIELD_PRIME) == 1
