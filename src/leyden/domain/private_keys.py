"""What private keys look like in clear: PEM, extended keys, lndconnect links."""

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


def in_text(text: str) -> bool:
    """Tell whether a private key lies anywhere in this text."""
    if _PEM.search(text) or _LNDCONNECT.search(text):
        return True
    candidates = [*_EXTENDED.findall(text), *_IMPORTABLE.findall(text)]
    return any(map(_adds_up, candidates))


def from_base58(text: str) -> bytes:
    """Read a number in base58 as bytes; the text has no other letters."""
    number = 0
    for letter in text:
        number = number * len(_ALPHABET) + _ALPHABET.index(letter)
    leading = len(text) - len(text.lstrip(_ALPHABET[0]))
    return bytes(leading) + number.to_bytes((number.bit_length() + 7) // 8)


def _adds_up(text: str) -> bool:
    """Check the checksum, which ciphertext has by chance once in four billion."""
    data = from_base58(text)
    body, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    digest = hashlib.sha256(hashlib.sha256(body).digest()).digest()
    return digest.startswith(checksum)
