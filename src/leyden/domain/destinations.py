"""The node that gets a direct channel.

A public key that is not a point of secp256k1, or an address that we may not connect to,
is rejected before the channel is priced.
"""

import re
from typing import Final

from leyden.domain import hosts
from leyden.errors import Malformed

PEER_PORT: Final = 9_735  # lnd's default
_KEY = re.compile(r"0[23][0-9a-f]{64}")
_FIELD_PRIME: Final = 2**256 - 2**32 - 977  # of secp256k1: y² = x³ + 7
_LONGEST: Final = 400
_KEY_DIGITS: Final = 66


def parse(text: str, *, field: str) -> tuple[str, str]:
    """Split KEY or KEY@HOST:PORT into public key and HOST:PORT; "" is no host."""
    if len(text) > _LONGEST:
        raise Malformed(f"{field}: must be a public key, or public key@host:port")
    key, at, host = text.strip().partition("@")
    key = key.lower()
    if not is_key(key):
        raise Malformed(
            f"{field}: must begin with a public key: {_KEY_DIGITS} hex digits, "
            "beginning with 02 or 03, that are a point of secp256k1"
        )
    if not at:
        return key, ""
    dialled = hosts.check_host(host, field=field, default_port=PEER_PORT)
    if hosts.split(dialled)[0].lower().endswith(".onion"):
        raise Malformed(
            f"{field}: we can't connect to onion addresses; send only the public key, "
            "and connect your node to seller_uri"
        )
    return key, dialled


def is_key(text: str) -> bool:
    """Return whether this is a valid public key of a node."""
    if not _KEY.fullmatch(text):
        return False
    x = int.from_bytes(bytes.fromhex(text[2:]))
    if x >= _FIELD_PRIME:
        return False
    square = (pow(x, 3, _FIELD_PRIME) + 7) % _FIELD_PRIME
    return pow(square, (_FIELD_PRIME - 1) // 2, _FIELD_PRIME) == 1
