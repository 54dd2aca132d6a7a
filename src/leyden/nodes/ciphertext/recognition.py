"""Check that a backup is encrypted, to protect a client that forgot to.

1. A readable seed, macaroon or private key is refused.
2. A known envelope with ciphertext in it is accepted.
3. Hex and base64 are decoded, twice at most, and what is inside is checked.
4. Opaque bytes are accepted. Anything else is refused.

The check is one pass over each layer. It can't tell a secret under a cipher of
one's own from ciphertext: owners can always hide their own seed from themselves.
The value itself is never changed and never repeated.
"""

import re
import zlib
from typing import Final

from leyden.errors import Malformed
from leyden.nodes.ciphertext import envelopes, plaintext

SEED_LIMIT: Final = 4_096
MACAROON_LIMIT: Final = 16_384
LEAST_BYTES: Final = 48  # of opaque bytes; bare keys and packed seeds are shorter
_LEAST_IN_ENVELOPE: Final = 16
_MAX_LAYERS: Final = 2
_HEX = re.compile(r"(?:0x)?((?:[0-9a-f]{2})+)", re.IGNORECASE)
_WHITE = frozenset("\t\n\r")


class _Readable(Exception):
    """A secret that anyone can read."""


def check_backup(value: object, *, kind: str, limit: int) -> None:
    """Raise Malformed for what is not ciphertext; `kind` is the field's name."""
    text = check_size(value, kind=kind, limit=limit)
    try:
        encrypted = _is_encrypted_text(text, _MAX_LAYERS)
    except _Readable:
        raise Malformed(
            f"{kind}: must be encrypted; you sent it in plain text, so treat it as "
            "compromised"
        ) from None
    if not encrypted:
        raise Malformed(
            f"{kind}: must be encrypted: send JWE, age, OpenPGP or OpenSSL, or at "
            f"least {LEAST_BYTES} bytes of ciphertext in base64 or hex"
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


def _is_encrypted_text(text: str, layers: int) -> bool:
    if plaintext.in_text(text):
        raise _Readable
    inside = envelopes.in_text(text)
    if inside is not None:
        return _is_encrypted(inside, least=_LEAST_IN_ENVELOPE)
    decoded = _decode(text) if layers else None
    return decoded is not None and _is_encrypted_bytes(decoded, layers - 1)


def _is_encrypted_bytes(data: bytes, layers: int) -> bool:
    text = _text_of(data)
    if text is not None:
        return _is_encrypted_text(text, layers)
    inside = envelopes.in_bytes(data)
    if inside is not None:
        return _is_encrypted(inside, least=_LEAST_IN_ENVELOPE)
    return _is_encrypted(data, least=LEAST_BYTES)


def _is_encrypted(data: bytes, *, least: int) -> bool:
    """Return whether bytes could be ciphertext: neither readable nor compressible."""
    text = _text_of(data)
    if plaintext.in_bytes(data) or (text is not None and plaintext.in_text(text)):
        raise _Readable
    return len(data) >= least and text is None and len(zlib.compress(data)) >= len(data)


def _decode(text: str) -> bytes | None:
    """Return what hex or base64 stands for; None if it is neither.

    Decimal digits, and words without a capital letter, could be both and are none:
    no ciphertext is written like that.
    """
    digits = _HEX.fullmatch("".join(text.split()))
    if digits and not digits[1].isdigit():
        return bytes.fromhex(digits[1])
    if text in {text.lower(), text.upper()}:
        return None
    return envelopes.decode_base64(text)


def _text_of(data: bytes) -> str | None:
    """Return the text that these bytes are; None if people can't read it."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    readable = all(letter.isprintable() or letter in _WHITE for letter in text)
    return text if readable else None
