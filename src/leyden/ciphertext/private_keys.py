"""Recognition of private keys: PEM, extended keys, lndconnect links."""

import hashlib
import re

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_PEM = re.compile(r"-----BEGIN[ A-Z0-9]*PRIVATE KEY", re.IGNORECASE)
_LNDCONNECT = re.compile(r"lndconnect:", re.IGNORECASE)
_EXTENDED = re.compile(r"(?=([xyztuvYZUV]prv[1-9A-HJ-NP-Za-km-z]{107}))")
_IMPORTABLE = re.compile(
    r"(?<![0-9A-Za-z])[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}(?![0-9A-Za-z])"
)
_CHECKSUM_BYTES = 4
# Checking a key takes 20 µs. They lie side by side; honest text has one begin by chance
# once in a hundred texts, and as many as this never.
_LENGTH = 111
_FEW = 8


class TooMany(Exception):
    """More possible private keys in a text than could fit into it."""


def in_text(text: str) -> bool:
    """Return whether this text contains a private key, or raise TooMany."""
    if _PEM.search(text) or _LNDCONNECT.search(text):
        return True
    extended = _EXTENDED.findall(text)
    if len(extended) > _FEW + len(text) // _LENGTH:
        raise TooMany
    return any(map(_adds_up, [*extended, *_IMPORTABLE.findall(text)]))


def from_base58(text: str) -> bytes:
    """Decode base58 to bytes; the text has no other letters."""
    number = 0
    for letter in text:
        number = number * len(_ALPHABET) + _ALPHABET.index(letter)
    leading = len(text) - len(text.lstrip(_ALPHABET[0]))
    return bytes(leading) + number.to_bytes((number.bit_length() + 7) // 8)


def _adds_up(text: str) -> bool:
    """Return whether the checksum is right: by chance once in four billion."""
    data = from_base58(text)
    body, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    digest = hashlib.sha256(hashlib.sha256(body).digest()).digest()
    return digest.startswith(checksum)
