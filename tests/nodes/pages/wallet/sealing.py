"""JWE and CryptoJS by other means than the dashboard's: what it is held to."""

import base64
import hashlib
import json
import os
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives.keywrap import aes_key_unwrap, aes_key_wrap

ALG = "PBES2-HS512+A256KW"


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def header_of(sealed: str) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(decoded(sealed.partition(".")[0]))
    return header


def _wrapping(password: str, header: dict[str, Any]) -> bytes:
    return PBKDF2HMAC(
        hashes.SHA512(),
        32,
        ALG.encode() + b"\0" + decoded(header["p2s"]),
        header["p2c"],
    ).derive(password.encode())


def open_jwe(sealed: str, password: str) -> str:
    """Open a compact JWE with Python's means."""
    shown, wrapped, iv, encrypted, tag = sealed.split(".")
    key = aes_key_unwrap(_wrapping(password, header_of(sealed)), decoded(wrapped))
    complete = decoded(encrypted) + decoded(tag)
    return AESGCM(key).decrypt(decoded(iv), complete, shown.encode()).decode()


def seal_jwe(text: str, password: str, about: object = None, **header: Any) -> str:
    """Seal as another program would."""
    said = {
        "alg": ALG,
        "enc": "A256GCM",
        "p2s": encoded(os.urandom(16)),
        "p2c": 1_000,  # few, so that tests are quick
        **({"leyden": about} if about is not None else {}),
        **header,
    }
    shown = encoded(json.dumps(said).encode())
    key, iv = os.urandom(32), os.urandom(12)
    wrapped = aes_key_wrap(_wrapping(password, said), key)
    aesgcm = AESGCM(key).encrypt(iv, text.encode(), shown.encode())
    parts = (wrapped, iv, aesgcm[:-16], aesgcm[-16:])
    return ".".join([shown, *map(encoded, parts)])


def seal_cryptojs(text: str, password: str) -> str:
    """Seal as CryptoJS.AES.encrypt(text, password) does."""
    salt = os.urandom(8)
    made = last = b""
    while len(made) < 48:
        last = hashlib.md5(last + password.encode() + salt).digest()  # noqa: S324
        made += last
    raw = text.encode()
    padding = 16 - len(raw) % 16
    cipher = Cipher(algorithms.AES256(made[:32]), modes.CBC(made[32:])).encryptor()
    complete = cipher.update(raw + bytes([padding]) * padding) + cipher.finalize()
    return base64.b64encode(b"Salted__" + salt + complete).decode()
