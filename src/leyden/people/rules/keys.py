"""The format of API keys: `leyden_<43 characters><6 of checksum>`.

Prefix and checksum help to find leaked keys: a scanner can recognize a key
without calling us, and we reject a mistyped key without a database query.
"""

import zlib

PREFIX = "leyden_"
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_BYTES = 32
_SECRET_LENGTH = 43  # 62**43 > 2**256
_CHECK_LENGTH = 6  # 62**6 > 2**32
# Two digits at a time, because this runs for every request.
_PAIRS = [tens + ones for tens in _ALPHABET for ones in _ALPHABET]
_HINT_LENGTH = len(PREFIX) + 4


def write_key(secret: bytes) -> str:
    """Return 256 random bits formatted as an API key."""
    if len(secret) != _SECRET_BYTES:
        raise ValueError("an API key is made of 32 random bytes")
    body = _base62(int.from_bytes(secret), _SECRET_LENGTH)
    return f"{PREFIX}{body}{_checksum(body)}"


def is_key(text: str) -> bool:
    """Return whether the text is an API key, by format and checksum alone."""
    if not text.startswith(PREFIX) or not text.isascii():
        return False
    body, check = text[len(PREFIX) : -_CHECK_LENGTH], text[-_CHECK_LENGTH:]
    return len(body) == _SECRET_LENGTH and check == _checksum(body)


def hint(key: str) -> str:
    """Return the beginning of a key: enough to recognize it, but not to use it."""
    return key[:_HINT_LENGTH]


def _checksum(body: str) -> str:
    rest, last = divmod(zlib.crc32(body.encode()), len(_PAIRS))
    first, middle = divmod(rest, len(_PAIRS))
    return _PAIRS[first] + _PAIRS[middle] + _PAIRS[last]


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
