"""A store whose password is tried in microseconds instead of half a second.

restic derives the key of a store from its password slowly, on purpose. A test calls it
dozens of times: the key file is written anew here, with scrypt's cheapest parameters.
"""

import base64
import hashlib
import json
import os
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.poly1305 import Poly1305

_NONCE, _TAG = 16, 16


def make_quick(store: Path, password: str) -> None:
    """Replace the store's one key file by one that opens quickly."""
    (path,) = (store / "keys").iterdir()
    body = json.loads(path.read_bytes())
    master = _open(_derived(body, password), base64.b64decode(body["data"]))
    body |= {"N": 2, "r": 1, "p": 1}
    sealed = _seal(_derived(body, password), master)
    content = json.dumps({**body, "data": base64.b64encode(sealed).decode()}).encode()
    path.unlink()
    (store / "keys" / hashlib.sha256(content).hexdigest()).write_bytes(content)


def _derived(answer: dict[str, object], password: str) -> bytes:
    return hashlib.scrypt(
        password.encode(),
        salt=base64.b64decode(str(answer["salt"])),
        n=int(str(answer["N"])),
        r=int(str(answer["r"])),
        p=int(str(answer["p"])),
        maxmem=1 << 28,
        dklen=64,
    )


def _open(key: bytes, sealed: bytes) -> bytes:
    nonce, content, tag = sealed[:_NONCE], sealed[_NONCE:-_TAG], sealed[-_TAG:]
    assert _tag(key, nonce, content) == tag
    return _ctr(key, nonce, content)


def _seal(key: bytes, content: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    encrypted = _ctr(key, nonce, content)
    return nonce + encrypted + _tag(key, nonce, encrypted)


def _ctr(key: bytes, nonce: bytes, content: bytes) -> bytes:
    cipher = Cipher(algorithms.AES(key[:32]), modes.CTR(nonce)).encryptor()
    return cipher.update(content) + cipher.finalize()


def _tag(key: bytes, nonce: bytes, content: bytes) -> bytes:
    block = Cipher(algorithms.AES(key[32:48]), modes.ECB()).encryptor()  # noqa: S305
    s = block.update(nonce) + block.finalize()
    return Poly1305.generate_tag(key[48:64] + s, content)
