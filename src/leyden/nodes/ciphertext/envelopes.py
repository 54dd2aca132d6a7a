"""The envelopes that encryption programs write: JWE, age, OpenPGP, OpenSSL, SJCL."""

import binascii
import json
import re
from typing import Final

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_ARMOR = re.compile(
    r"\s*-----BEGIN (AGE ENCRYPTED FILE|PGP MESSAGE)-----\s*?\n(.*?)"
    r"-----END \1-----\s*",
    re.DOTALL,
)
_PGP_HEADERS = re.compile(r"(?:[A-Za-z]+: [^\n]*\n)*\r?\n")
_PGP_CHECKSUM = re.compile(r"\n=[A-Za-z0-9+/]{4}\s*$")
# A key for the message (public or password), or the encrypted message itself. Others,
# such as literal data, anyone can read.
_PGP_ENCRYPTED: Final = frozenset({1, 3, 9, 18, 20})
_AGE = re.compile(
    rb"age-encryption\.org/v1\n(?:-> |[A-Za-z0-9+/]).*?\n--- \S+\n", re.DOTALL
)
_SALTED: Final = b"Salted__"
_SALTED_HEAD: Final = 16  # with the salt
_BLOCK: Final = 16
_JWE_PARTS: Final = 5
_JSON = (
    {"ciphertext", "iv", "tag", "protected"},  # JWE as JSON
    {"ct", "iv", "salt"},  # SJCL
    {"ct", "iv", "s"},  # CryptoJS
)


def in_text(text: str) -> bytes | None:
    """Return the ciphertext in a known envelope of text; None if it is none."""
    if text.lstrip().startswith("{"):
        return _in_json(text)
    if armor := _ARMOR.fullmatch(text):
        kind, body = armor.groups()
        if kind == "PGP MESSAGE":
            return _in_openpgp(body)
        data = decode_base64(body)
        return in_bytes(data) if data is not None else None
    parts = text.strip().split(".")
    return _in_jwe(parts) if len(parts) == _JWE_PARTS else None


def in_bytes(data: bytes) -> bytes | None:
    """Return the ciphertext in a known envelope of bytes; None if it is none."""
    if data.startswith(_SALTED):
        body = data[_SALTED_HEAD:]
        return body if body and len(body) % _BLOCK == 0 else None
    head = _AGE.match(data)
    return data[head.end() :] if head else None


def decode_base64(text: str) -> bytes | None:
    """Return what base64 or base64url stands for, with white space anywhere.

    None if it is neither.
    """
    compact = "".join(text.split())
    if not _BASE64.fullmatch(compact):
        return None
    letters = compact.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return binascii.a2b_base64(letters + "=" * (-len(letters) % 4))
    except binascii.Error:
        return None


def _in_json(text: str) -> bytes | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not any(names <= value.keys() for names in _JSON):
        return None
    body = value.get("ciphertext", value.get("ct"))
    return decode_base64(body) if isinstance(body, str) else None


def _in_openpgp(armored: str) -> bytes | None:
    body = _PGP_CHECKSUM.sub("", _PGP_HEADERS.sub("", armored, count=1))
    data = decode_base64(body)
    if not data or not data[0] & 0x80:
        return None
    tag = data[0] & 0x3F if data[0] & 0x40 else data[0] >> 2 & 0x0F
    return data if tag in _PGP_ENCRYPTED else None


def _in_jwe(parts: list[str]) -> bytes | None:
    head = decode_base64(parts[0])
    try:
        names = json.loads(head or b"").keys()
    except (ValueError, AttributeError, RecursionError):
        return None
    return decode_base64(parts[3]) if {"alg", "enc"} <= names else None
