"""Checks that a backup is ciphertext, not readable without a key.

A backup is decoded layer by layer: percent signs, JSON, hex, base64 and
others are undone for as long as they reveal another layer. The backup is
refused

1. if any layer shows a seed, a macaroon or a private key in the clear,
2. if no layer looks like ciphertext, whatever else it may be,
3. if decoding takes more work than a genuine backup ever does.

Not distinguishable from ciphertext: a secret under a home-made cipher (XOR
with a long key), under a well-known password, or one that is evenly
distributed by nature, like the 32 bytes of a bare key. The value itself is
never changed and never repeated.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final

from leyden.ciphertext import macaroons, private_keys, seeds
from leyden.ciphertext.compression import is_compressed
from leyden.ciphertext.encodings import Layer, objects, peel
from leyden.ciphertext.randomness import looks_random
from leyden.errors import Malformed

SEED_LIMIT: Final = 4_096
MACAROON_LIMIT: Final = 16_384
_SHORTEST = 16  # nothing shorter can be a secret
_MOST_LAYERS = 400
# Bytes and characters of all layers together, at about half a microsecond each. The
# largest honest backup, 16 KiB in hex, has 86,000.
_MOST_CONTENT = 12 * MACAROON_LIMIT
_BLANKED = bytes(range(0x80)) + b" " * 0x80  # what is not ASCII parts words


def check_backup(value: object, *, kind: str, limit: int) -> None:
    """Raise Malformed for what is not ciphertext; `kind` is the field's name."""
    encrypted = False
    for layer in _layers(check_size(value, kind=kind, limit=limit), kind):
        if _is_readable(layer.content, kind):
            raise Malformed(
                f"{kind}: must be encrypted; you sent it in plain text, so treat it as "
                "compromised"
            )
        encrypted = encrypted or _is_ciphertext(layer)
    if not encrypted:
        raise Malformed(
            f"{kind}: must be encrypted, with at least 32 bytes of ciphertext; use "
            "JWE, age, OpenPGP or OpenSSL"
        )


def check_size(value: object, *, kind: str, limit: int) -> str:
    """Return the value if it is a text of allowed size, or raise Malformed."""
    if not isinstance(value, str):
        raise Malformed(f"{kind}: must be a string")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise Malformed(f"{kind}: must be valid UTF-8 text") from None
    if not 0 < size <= limit:
        raise Malformed(f"{kind}: must have 1 to {limit} bytes")
    if "\0" in value:
        raise Malformed(f"{kind}: must not contain NUL characters")
    return value


def _layers(value: str, kind: str) -> Iterator[Layer]:
    """Yield the value's layers, each once, until decoding finds no more."""
    seen: set[str | bytes] = {value}
    left, content = deque([Layer(value)]), len(value)
    while left:
        layer = left.popleft()
        yield layer
        for inner in peel(layer):
            if len(inner.content) >= _SHORTEST and inner.content not in seen:
                seen.add(inner.content)
                left.append(inner)
                content += len(inner.content)
                if len(seen) > _MOST_LAYERS or content > _MOST_CONTENT:
                    raise _too_much(kind)


def _too_much(kind: str) -> Malformed:
    return Malformed(
        f"{kind}: is encoded too many times; send the ciphertext as your program wrote "
        "it, encoded once"
    )


def _is_readable(content: str | bytes, kind: str) -> bool:
    if isinstance(content, bytes):
        return (
            macaroons.in_bytes(content)
            or seeds.in_bytes(content)
            or seeds.in_text(content.translate(_BLANKED).decode("ascii"))
        )
    try:
        if private_keys.in_text(content):
            return True
    except private_keys.TooMany:
        raise _too_much(kind) from None
    return (
        macaroons.in_text(content)
        or any(map(macaroons.in_object, objects(content)))
        or macaroons.in_bytes(content.encode(errors="replace"))
        or seeds.in_text(content)
    )


def _is_ciphertext(layer: Layer) -> bool:
    return (
        isinstance(layer.content, bytes)
        and layer.even
        and looks_random(layer.content)
        and not is_compressed(layer.content)
    )
