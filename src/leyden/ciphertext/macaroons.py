"""Recognition of plaintext macaroons, in every encoding in use."""

import base64
import re
from collections.abc import Mapping

# lnd's: version 2, a location field of 3 bytes ("lnd"), an identifier follows.
_LND = bytes((2, 1, 3)) + b"lnd" + bytes((2,))
# Anyone's whose identifier is a bakery's: version 3 and a nonce of 16 bytes.
_BAKERY = re.compile(
    rb"\x02(?:\x01[\x01-\x40][\x20-\x7e]{1,64})?\x02[\x01-\xff][\x01-\x7f]?\x03\x0a\x10",
    re.DOTALL,
)
_PACKETS = re.compile(rb"[0-9a-f]{4}(?:location|identifier|signature) ")
# In a text these stand wherever the macaroon begins, glued to whatever is before it.
_HEX = re.compile(re.escape(_LND.hex()), re.IGNORECASE)
_BASE64 = tuple(
    base64.b64encode(bytes(shift) + _LND)[first:end].decode()
    for shift, first, end in ((0, 0, 9), (1, 2, 10), (2, 3, 12))
)
_IDENTIFIERS = ("identifier", "i", "i64")
_SIGNATURES = ("signature", "s", "s64")
_EOS, _LOCATION, _IDENTIFIER, _VERIFICATION, _SIGNATURE = 0, 1, 2, 4, 6
_SIGNATURE_BYTES = 32
_MORE = 0x80  # the bit of a varint that says another byte follows


def in_bytes(data: bytes) -> bool:
    """Return whether a macaroon lies anywhere in these bytes."""
    return (
        _LND in data
        or _BAKERY.search(data) is not None
        or _PACKETS.search(data) is not None
        or _is_version_2(data)
    )


def in_text(text: str) -> bool:
    """Return whether a macaroon lies anywhere in this text, in hex or base64."""
    return _HEX.search(text) is not None or any(start in text for start in _BASE64)


def in_object(value: Mapping[str, object]) -> bool:
    """Return whether an object is a macaroon written as JSON, of version 1 or 2."""
    return any(isinstance(value.get(name), str) for name in _IDENTIFIERS) and any(
        isinstance(value.get(name), str) for name in _SIGNATURES
    )


def _is_version_2(data: bytes) -> bool:
    """Return whether all of the bytes are one macaroon of version 2.

    A field is its type, length and content; sections end with a zero.
    """
    if not data.startswith(b"\x02"):
        return False
    at, kinds = 1, []
    while at < len(data):
        kind, at = data[at], at + 1
        kinds.append(kind)
        if kind == _EOS:
            continue
        if kind not in {_LOCATION, _IDENTIFIER, _VERIFICATION, _SIGNATURE}:
            return False
        size, at = _length(data, at)
        at += size
        if kind == _SIGNATURE:
            return size == _SIGNATURE_BYTES and at == len(data) and _IDENTIFIER in kinds
    return False


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Parse a varint of at most two bytes; return a position past it.

    If there is no varint, the position is past the end of the data.
    """
    size = 0
    for shift, byte in ((0, data[at : at + 1]), (7, data[at + 1 : at + 2])):
        if not byte:
            break
        at += 1
        size |= (byte[0] & ~_MORE) << shift
        if byte[0] < _MORE:
            return size, at
    return len(data), at
