"""Encryption under a password, as compact JWE (RFC 7516).

PBES2-HS512+A256KW derives a key from the password and wraps a new random
one with it; A256GCM encrypts. The protected header holds what the text is
and of which node: anyone can read it and nobody can change it, so one
backup cannot pass for another.
"""

import base64
import binascii
import json
import os
from collections.abc import Mapping
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives.keywrap import (
    InvalidUnwrap,
    aes_key_unwrap,
    aes_key_wrap,
)

from leyden.errors import CannotOpen, WrongPassword

ROUNDS: Final = 600_000
ALGORITHM: Final = "PBES2-HS512+A256KW"
ENCRYPTION: Final = "A256GCM"
_FEWEST_ROUNDS = 1_000
_MAX_ROUNDS = 10_000_000  # some seconds; more would only hang the program that opens it
_KEY, _SALT, _IV, _TAG = 32, 16, 12, 16
_SAYS_WHAT_IT_IS = {
    "node": "another node",
    "kind": "something else",
    "name": "another name",
}


def seal(text: str, password: str, about: Mapping[str, str]) -> str:
    """Encrypt a text under a password; `about` is node, kind and name."""
    salt, iv, key = os.urandom(_SALT), os.urandom(_IV), os.urandom(_KEY)
    header = {
        "alg": ALGORITHM,
        "enc": ENCRYPTION,
        "p2s": _encode(salt),
        "p2c": ROUNDS,
        "leyden": dict(about),
    }
    shown = _encode(json.dumps(header, separators=(",", ":")).encode())
    wrapped = aes_key_wrap(_wrapping_key(password, salt, ROUNDS), key)
    sealed = AESGCM(key).encrypt(iv, text.encode(), shown.encode())
    parts = (wrapped, iv, sealed[:-_TAG], sealed[-_TAG:])
    return ".".join((shown, *map(_encode, parts)))


def open_(sealed: str, password: str, about: Mapping[str, str]) -> str:
    """Decrypt this backup of this node; raise CannotOpen with the reason."""
    shown, *rest = sealed.strip().split(".")
    header = _read(shown)
    _check(header, about)
    try:
        salt = _decode(header["p2s"])
        wrapped, iv, encrypted, tag = map(_decode, rest)
    except (KeyError, TypeError, ValueError):
        raise _damaged() from None
    if len(iv) != _IV or len(tag) != _TAG:
        raise _damaged()
    try:
        key = aes_key_unwrap(_wrapping_key(password, salt, header["p2c"]), wrapped)
    except InvalidUnwrap:
        raise WrongPassword from None
    try:
        text = AESGCM(key).decrypt(iv, encrypted + tag, shown.encode())
        return text.decode()
    except (InvalidTag, ValueError):
        raise _damaged() from None


def _wrapping_key(password: str, salt: bytes, rounds: int) -> bytes:
    """Derive the wrapping key as in RFC 7518, section 4.8.1.1."""
    stretched = PBKDF2HMAC(
        algorithm=SHA512(),
        length=_KEY,
        salt=ALGORITHM.encode() + b"\0" + salt,
        iterations=rounds,
    )
    return stretched.derive(password.encode())


def _read(shown: str) -> dict[str, Any]:
    try:
        header = json.loads(_decode(shown))
    except ValueError:
        raise _damaged() from None
    if not isinstance(header, dict):
        raise _damaged()
    return header


def _check(header: Mapping[str, Any], about: Mapping[str, str]) -> None:
    right = header.get("alg") == ALGORITHM and header.get("enc") == ENCRYPTION
    if not right or "zip" in header or "crit" in header:
        raise CannotOpen(f"only {ALGORITHM} with {ENCRYPTION} is opened here")
    rounds = header.get("p2c")
    if type(rounds) is not int or not _FEWEST_ROUNDS <= rounds <= _MAX_ROUNDS:
        raise CannotOpen("this backup has an invalid number of PBKDF2 rounds")
    # One that tells nothing was made elsewhere: it may be what it is taken for.
    parameters = header.get("leyden") or {}
    if not isinstance(parameters, dict):
        raise _damaged()
    for field, what in _SAYS_WHAT_IT_IS.items():
        if parameters.get(field, about.get(field, "")) != about.get(field, ""):
            raise CannotOpen(f"this is a backup of {what}: it is not opened here")


def _damaged() -> CannotOpen:
    return CannotOpen("this backup is damaged: parts of it are missing or changed")


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        return base64.b64decode(padded, b"-_", validate=True)
    except (AttributeError, UnicodeEncodeError, binascii.Error):
        raise ValueError from None
