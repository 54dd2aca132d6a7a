"""What the seed of a wallet looks like in clear: words, or the bytes of an aezeed."""

import re
import unicodedata
from functools import cache
from importlib import resources
from typing import Final

FEWEST_WORDS: Final = 12
_SHORTEST_WORD, _LONGEST_WORD = 3, 8
_ABBREVIATION = 4  # the list is made so that four letters name a word
_AMONG = 2 * FEWEST_WORDS  # every other word may be a decoy
_FEWEST_BEGINNINGS = FEWEST_WORDS // 2  # most words have four letters or more
_RUN_OF_LETTERS = re.compile("[a-z]+")
_NOT_A_LETTER = re.compile("[^a-z]+")
_AEZEED_BYTES = 33
_AEZEED_BODY = 29
_CASTAGNOLI = 0x82F63B78


def in_text(text: str) -> bool:
    """Tell whether a dozen words of the BIP39 list stand together in this text.

    In any case, abbreviated, numbered, spaced out or run together, and every other
    word may be another.
    """
    folded = unicodedata.normalize("NFKD", text).casefold()
    return _stand_together(_RUN_OF_LETTERS.findall(folded)) or _run_together(
        _NOT_A_LETTER.sub("", folded)
    )


def in_bytes(data: bytes) -> bool:
    """Tell whether these bytes are an enciphered aezeed, the way its words pack it.

    Its own passphrase does not count: nearly everyone leaves it at its default.
    """
    return (
        len(data) == _AEZEED_BYTES
        and data[0] == 0
        and _crc32c(data[:_AEZEED_BODY]) == int.from_bytes(data[_AEZEED_BODY:])
    )


@cache
def _words() -> frozenset[str]:
    text = resources.files(__package__).joinpath("bip39_english.txt").read_text("ascii")
    full = text.split()
    return frozenset([*full, *(word[:_ABBREVIATION] for word in full)])


@cache
def _beginnings() -> frozenset[str]:
    return frozenset(word for word in _words() if len(word) == _ABBREVIATION)


def _stand_together(tokens: list[str]) -> bool:
    words = _words()
    known = [at for at, token in enumerate(tokens) if token in words]
    return any(
        last - first < _AMONG
        for first, last in zip(known, known[FEWEST_WORDS - 1 :], strict=False)
    )


def _run_together(letters: str) -> bool:
    """Find a dozen words with nothing between them, wherever each of them ends."""
    if len(letters) < FEWEST_WORDS * _SHORTEST_WORD:
        return False
    beginnings = _beginnings()
    fours = [letters[at : at + _ABBREVIATION] for at in range(len(letters))]
    begun = [four for four in fours if four in beginnings]
    if len(begun) < _FEWEST_BEGINNINGS or len(set(begun)) == 1:
        return False  # no seed is one word over and over
    words = _words()
    chains = [0] * (len(letters) + 1)  # how many words end here, one after another
    for end in range(_SHORTEST_WORD, len(letters) + 1):
        for start in range(max(0, end - _LONGEST_WORD), end - _SHORTEST_WORD + 1):
            if letters[start:end] in words:
                chains[end] = max(chains[end], chains[start] + 1)
        if chains[end] >= FEWEST_WORDS:
            return True
    return False


@cache
def _crc_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_CASTAGNOLI if value & 1 else 0)  # noqa: PLW2901
        table.append(value)
    return tuple(table)


def _crc32c(data: bytes) -> int:
    crc, table = 0xFFFF_FFFF, _crc_table()
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFF_FFFF
