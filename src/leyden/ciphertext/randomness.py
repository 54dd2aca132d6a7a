"""Statistical tests of whether bytes or text could be ciphertext.

Ciphertext is evenly distributed; nothing that a person can read is. Every
threshold here is set where genuine ciphertext falls less than once in 10^10
times, so what is refused as not random is not random.
"""

import math
import zlib
from collections import Counter
from typing import Final

LEAST_BYTES: Final = 32
_BYTES = 256
_PRINTABLE_SHARE = 95 / 256
_WINDOW = 64
_STEP = 32
_WELL_SPREAD = 192  # of 256 byte values; long ciphertext has nearly all of them
# Pearson's chi-squared over the 64 (16) letters of base64 (hex), and over the three
# kinds of letter in base64; each far out in its tail for 32 bytes and more.
_HEX = 16
_UNEVEN = {64: 240.0, _HEX: 100.0}
_UNEVEN_KINDS = 60.0
_PRINTABLE = frozenset(range(0x20, 0x7F))
_BLANKS = frozenset("\t\n\r")


def looks_random(data: bytes) -> bool:
    """Return whether these bytes, or a good part of them, look like ciphertext.

    A part is enough: age and OpenPGP put a readable head before their ciphertext.
    """
    if len(data) < LEAST_BYTES or is_text(data):
        return False
    if _even(data):
        return True
    starts = range(0, len(data) - _WINDOW + 1, _STEP)
    return len(data) > _WINDOW and any(
        _even(part) and not is_text(part)
        for part in (data[start : start + _WINDOW] for start in starts)
    )


def is_text(data: bytes) -> bool:
    """Return whether a person could read it, in whatever language."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character in _BLANKS for character in text)


def evenly_written(letters: str, alphabet: int) -> bool:
    """Return whether these letters, of 16 (hex) or 64 (base64), are spread evenly.

    Words run together are base64 too, and decode to what looks like ciphertext.
    """
    if unevenness(letters, alphabet) > _UNEVEN[alphabet]:
        return False
    lower = sum(map(str.islower, letters))
    upper = sum(map(str.isupper, letters))
    if alphabet == _HEX:
        return lower + upper > 0  # or they are decimal numbers
    other = len(letters) - lower - upper
    kinds = ((lower, 26 / 64), (upper, 26 / 64), (other, 12 / 64))
    chi = sum(count**2 / (len(letters) * share) for count, share in kinds)
    return chi - len(letters) <= _UNEVEN_KINDS


def unevenness(letters: str, alphabet: int) -> float:
    """Return Pearson's chi-squared: for ciphertext about as large as the alphabet."""
    squares = sum(count * count for count in Counter(letters).values())
    return alphabet * squares / len(letters) - len(letters)


def _even(data: bytes) -> bool:
    size = len(data)
    printable = sum(byte in _PRINTABLE for byte in data)
    most_printable = _PRINTABLE_SHARE + 3.4 / math.sqrt(size)
    return (
        printable / size < most_printable
        and len(set(data)) >= _distinct(size)
        and len(zlib.compress(data)) >= size  # UTF-16, packed numbers, repetitions
    )


def _distinct(size: int) -> float:
    """Return how many different bytes so much ciphertext has at the very least.

    The mean of the occupancy problem less twelve standard deviations; single-byte XOR
    and other alphabets of a person's 27 letters stay below it from 75 bytes on.
    """
    missed = (1 - 1 / _BYTES) ** size
    missed_both = (1 - 2 / _BYTES) ** size
    mean = _BYTES * (1 - missed)
    variance = _BYTES * (missed + (_BYTES - 1) * missed_both - _BYTES * missed**2)
    return min(mean - 12 * math.sqrt(max(variance, 0.0)), _WELL_SPREAD)
