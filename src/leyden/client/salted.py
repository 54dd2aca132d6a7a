"""Decryption of older backups: OpenSSL's salted AES-256-CBC in base64.

They start with U2FsdGVkX1 (`Salted__`, then a salt). CryptoJS and two modes
of `openssl enc` write this format, and differ in how they derive a key from
the password. Nothing is encrypted this way any more: the format does not
detect changes.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

from leyden.errors import CannotOpen, WrongPassword

PREFIX: Final = "U2FsdGVkX1"
_ROUNDS = 10_000  # what `openssl enc -pbkdf2` takes unless told otherwise
_MARK, _SALT, _BLOCK = 8, 8, 16
_KEY, _KEY_AND_IV = 32, 48


def open_(sealed: str, password: str, is_whole: Callable[[str], bool]) -> str:
    """Decrypt; `is_whole` returns whether a text is as expected.

    A wrong key is detected only by chance, so the result is checked as
    well.
    """
    try:
        data = base64.b64decode("".join(sealed.split()), validate=True)
    except binascii.Error:
        raise CannotOpen("this backup is damaged: it is not base64") from None
    salt, encrypted = data[_MARK : _MARK + _SALT], data[_MARK + _SALT :]
    if not encrypted or len(encrypted) % _BLOCK:
        raise CannotOpen("this backup is damaged: parts of it are missing")
    for way in (_crypto_js, _openssl, _openssl_pbkdf2):
        text = _attempt(way(password.encode(), salt), encrypted)
        if text is not None and is_whole(text):
            return text
    raise WrongPassword


def _attempt(key_and_iv: bytes, encrypted: bytes) -> str | None:
    cipher = Cipher(AES(key_and_iv[:_KEY]), CBC(key_and_iv[_KEY:])).decryptor()
    unpadding = PKCS7(_BLOCK * 8).unpadder()
    try:
        padded = cipher.update(encrypted) + cipher.finalize()
        return (unpadding.update(padded) + unpadding.finalize()).decode()
    except ValueError:
        return None


def _crypto_js(password: bytes, salt: bytes) -> bytes:
    return _stretched(lambda data: hashlib.md5(data).digest(), password, salt)  # noqa: S324  theirs


def _openssl(password: bytes, salt: bytes) -> bytes:
    return _stretched(lambda data: hashlib.sha256(data).digest(), password, salt)


def _openssl_pbkdf2(password: bytes, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", password, salt, _ROUNDS, _KEY_AND_IV)


def _stretched(digest: Callable[[bytes], bytes], password: bytes, salt: bytes) -> bytes:
    made = last = b""
    while len(made) < _KEY_AND_IV:
        last = digest(last + password + salt)
        made += last
    return made[:_KEY_AND_IV]
