"""Recognition of wallet seeds: words, or the bytes of an aezeed."""

import re
import unicodedata
from functools import cache
from importlib import resources
from typing import Final

from leyden.domain.combining_marks import limit_marks

FEWEST_WORDS: Final = 12
_HEAD = 3  # letters: no word is shorter
_ABBREVIATION = 4  # the list is made so that four letters name a word
_AMONG = 2 * FEWEST_WORDS  # every other word may be a decoy
_FEWEST_BEGINNINGS = FEWEST_WORDS // 2  # most words have four letters or more
_RUN_OF_LETTERS = re.compile("[a-z]+")
_NOT_A_LETTER = re.compile("[^a-z]+")
_AEZEED_BYTES = 33
_AEZEED_BODY = 29
_CASTAGNOLI = 0x82F63B78


def in_text(text: str) -> bool:
    """Return whether a dozen words of the BIP39 list stand together in this text.

    In any case, abbreviated, numbered, spaced out or run together, and every other
    word may be another.
    """
    folded = unicodedata.normalize("NFKD", limit_marks(text)).casefold()
    return _stand_together(_RUN_OF_LETTERS.findall(folded)) or _run_together(
        _NOT_A_LETTER.sub("", folded)
    )


def in_bytes(data: bytes) -> bool:
    """Return whether these bytes are an enciphered aezeed, the way its words pack it.

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
def _heads() -> dict[str, tuple[int, ...]]:
    """Return the word lengths for each three first letters."""
    found: dict[str, set[int]] = {}
    for word in _words():
        found.setdefault(word[:_HEAD], set()).add(len(word))
    return {head: tuple(sorted(lengths)) for head, lengths in found.items()}


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
    """Return whether a dozen words are run together, wherever each ends.

    Words are tried only where three letters begin a word: in ciphertext that is
    one position in fifteen, and the others cost one look-up each.
    """
    heads = _heads()
    starts = [at for at in range(len(letters)) if letters[at : at + _HEAD] in heads]
    if len(starts) < FEWEST_WORDS:
        return False
    words = _words()
    chains: dict[int, int] = {}  # how many words end here, one after another
    for start in starts:
        longer = chains.get(start, 0) + 1
        for length in heads[letters[start : start + _HEAD]]:
            end = start + length
            if letters[start:end] in words and chains.get(end, 0) < longer:
                chains[end] = longer
    return max(chains.values(), default=0) >= FEWEST_WORDS and _is_varied(letters)


def _is_varied(letters: str) -> bool:
    """Return whether different words begin here: seeds repeat no one word."""
    fours = (letters[at : at + _ABBREVIATION] for at in range(len(letters)))
    begun = [four for four in fours if four in _beginnings()]
    return len(begun) >= _FEWEST_BEGINNINGS and len(set(begun)) > 1


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
