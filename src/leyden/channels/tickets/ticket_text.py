"""The fields of a ticket's text, parsed without calling poold.

The text is `sidecar` and then, in base58: a version, the ticket, four bytes
of checksum. The ticket is a row of fields; its id comes first.
"""

import hashlib

from leyden.errors import MarketAway

_PREFIX = "sidecar"
_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES = {letter: value for value, letter in enumerate(_ALPHABET)}
_VERSION = b"\x00"
_CHECKSUM = 4
_ID = b"\x01\x08"  # the first field: its type, and how long it is
_RETRY_AFTER_S = 60


def ref_of(text: str) -> str:
    """Return the ticket's ref; raise MarketAway if this is no ticket."""
    written = text.removeprefix(_PREFIX)
    try:
        decoded = _bytes(written)
    except KeyError:
        decoded = b""
    content, checksum = decoded[:-_CHECKSUM], decoded[-_CHECKSUM:]
    hashed = hashlib.sha256(_PREFIX.encode() + content).digest()
    if (
        written == text
        or hashed[:_CHECKSUM] != checksum
        or not content.startswith(_VERSION + _ID)
    ):
        raise MarketAway("what poold made is no ticket", retry_after_s=_RETRY_AFTER_S)
    start = len(_VERSION + _ID)
    return content[start : start + _ID[1]].hex()


def _bytes(written: str) -> bytes:
    number = 0
    for letter in written:
        number = number * len(_ALPHABET) + _VALUES[letter]
    # What is left out in front of a number is kept: one letter for each empty byte.
    zeros = len(written) - len(written.lstrip(_ALPHABET[0]))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")
