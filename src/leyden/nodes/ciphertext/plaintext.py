"""Recognition of secrets that anyone can read: seed words, macaroons, private keys."""

import base64
import re
from functools import cache
from importlib import resources
from typing import Final

FEWEST_WORDS: Final = 12
_ABBREVIATION = 4  # the list is made so that four letters name a word
_AMONG = 2 * FEWEST_WORDS  # numbered, or with other words between
# Also in CamelCase. No word of the list is shorter; most of what looks like one in
# base64 is.
_WORD = re.compile("[A-Z][a-z]{2,}|[a-z]{3,}|[A-Z]{3,}")

# lnd's: version 2, a location field of 3 bytes ("lnd"), an identifier follows.
_LND = bytes((2, 1, 3)) + b"lnd" + bytes((2,))
# Anyone's whose identifier is a bakery's: version 3 and a nonce of 16 bytes.
_BAKERY = re.compile(
    rb"\x02(?:\x01[\x01-\x40][\x20-\x7e]{1,64})?\x02[\x01-\xff][\x01-\x7f]?\x03\x0a\x10",
    re.DOTALL,
)
_VERSION_1 = re.compile(rb"[0-9a-f]{4}(?:location|identifier|signature) ")
_FIELDS = ("location ", "identifier ", "signature ")

_READABLE = re.compile(
    "|".join(
        (
            re.escape(_LND.hex()),
            r"[0-9a-f]{4}(?:location|identifier|signature) ",
            r"lndconnect:",
            r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY",
            r"[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100}",
        )
    ),
    re.IGNORECASE,
)
# One of these is in all that the pattern finds, and looking for them is quick.
_MARKS = (
    *(_LND.hex(), "lndconnect:", "private key", *_FIELDS),
    *(f"{letter}prv" for letter in "xyztuv"),
)
# A macaroon in base64, wherever it begins among three bytes.
_IN_BASE64 = tuple(
    base64.b64encode(bytes(shift) + _LND)[first:end].decode()
    for shift, first, end in ((0, 0, 9), (1, 2, 10), (2, 3, 12))
)


def in_text(text: str) -> bool:
    """Return whether a text shows a seed, a macaroon or a private key."""
    lower = text.lower()
    return (
        (any(mark in lower for mark in _MARKS) and _READABLE.search(text) is not None)
        or any(start in text for start in _IN_BASE64)
        or _has_seed_words(text)
    )


def in_bytes(data: bytes) -> bool:
    """Return whether a macaroon lies in these bytes."""
    return (
        _LND in data
        or _BAKERY.search(data) is not None
        or (
            any(field.encode() in data for field in _FIELDS)
            and _VERSION_1.search(data) is not None
        )
    )


def _has_seed_words(text: str) -> bool:
    """Return whether a dozen words of the BIP39 list stand together."""
    tokens = map(str.lower, _WORD.findall(text))
    known = [
        at for at, is_known in enumerate(map(_words().__contains__, tokens)) if is_known
    ]
    return any(
        last - first < _AMONG
        for first, last in zip(known, known[FEWEST_WORDS - 1 :], strict=False)
    )


@cache
def _words() -> frozenset[str]:
    """Return the BIP39 words and their abbreviations."""
    text = resources.files(__package__).joinpath("bip39_english.txt").read_text("ascii")
    full = text.split()
    return frozenset([*full, *(word[:_ABBREVIATION] for word in full)])
