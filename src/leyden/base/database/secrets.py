"""Secrets at rest: sealed if shown again, digested if only looked up.

A sealed value uses envelope encryption: the value is encrypted with a data
key of its own, and the data key with a sealing key in a file outside the
database. Rotation creates a new sealing key and encrypts the data keys
again; the values themselves do not change.

    0x01 | sealing key's id, 4 | nonce, 12 | wrapped data key, 48 | nonce, 12 | value

The purpose ("webhook secret of <node>") is authenticated with the value, so
a sealed value that is moved to another row or column can't be opened.
"""

import base64
import hmac
import json
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from leyden.base.files import unreadable, write_private
from leyden.errors import SetupError
from leyden.values import Struct, replace

_VERSION = b"\x01"
_ID, _NONCE, _KEY, _TAG = 4, 12, 32, 16
_WRAPPED_AT = 1 + _ID
_VALUE_AT = _WRAPPED_AT + _NONCE + _KEY + _TAG


class Keyring(Struct, frozen=True, kw_only=True):
    """The keys of one installation, the newest sealing key first."""

    digesting: bytes
    sealing: tuple[tuple[bytes, bytes], ...]  # (id, key)
    rotating: bool = False  # until everything is sealed with the newest key

    @classmethod
    def new(cls) -> "Keyring":
        """Create the keys of a new installation."""
        return cls(digesting=secrets.token_bytes(_KEY), sealing=(_new_key(),))

    def with_new_key(self) -> "Keyring":
        """Return a keyring that seals with a new key; the old ones still open."""
        return replace(self, sealing=(_new_key(), *self.sealing), rotating=True)

    def with_one_old_key(self) -> "Keyring":
        """Return a keyring with the newest key and the one before, which only opens."""
        return replace(self, sealing=self.sealing[:2], rotating=False)


def _new_key() -> tuple[bytes, bytes]:
    return secrets.token_bytes(_ID), secrets.token_bytes(_KEY)


def load_keyring(path: Path) -> Keyring:
    """Read the keys; if missing or broken, raise with the next step."""
    try:
        return parse_keyring(path.read_bytes(), path)
    except FileNotFoundError:
        raise SetupError(
            f"secrets_file: {path} does not exist; restore it from your backup, or "
            "run `leyden migrate` on a new installation to create one"
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def parse_keyring(content: bytes, path: Path) -> Keyring:
    """Parse the content of a key file."""
    try:
        keys_ = json.loads(content)
        return Keyring(
            digesting=base64.b64decode(keys_["digesting"]),
            sealing=tuple(
                (bytes.fromhex(each["id"]), base64.b64decode(each["key"]))
                for each in keys_["sealing"]
            ),
            rotating="rotating" in keys_,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> SetupError:
    return SetupError(
        f"secrets_file: {path} cannot be read ({unreadable(error)}); "
        "restore it from your backup"
    )


def save_keyring(path: Path, keyring: Keyring) -> None:
    """Write the keys atomically, readable by their owner only."""
    content = {
        "digesting": base64.b64encode(keyring.digesting).decode(),
        "sealing": [
            {"id": id_.hex(), "key": base64.b64encode(key).decode()}
            for id_, key in keyring.sealing
        ],
        **({"rotating": True} if keyring.rotating else {}),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, json.dumps(content))


class Sealer:
    """Seals, opens and digests values with one installation's keys.

    With their `file`, it follows a rotation of the keys while it runs.
    """

    def __init__(self, keyring: Keyring, *, file: Path | None = None) -> None:
        self._digesting = keyring.digesting
        self._file = file
        self._mark: tuple[int, int] | None = None  # of the file, as it was last read
        self._take(keyring)

    def _take(self, keyring: Keyring) -> None:
        self._newest, newest_key = keyring.sealing[0]
        self._wrapping = {id_: AESGCM(key) for id_, key in keyring.sealing}
        self._wrap = AESGCM(newest_key)

    def seal(self, value: bytes, *, purpose: str) -> bytes:
        """Seal a value for this purpose; only this installation can open it."""
        self._follow_rotation()
        # One call to the kernel for all random bytes.
        drawn = secrets.token_bytes(_KEY + 2 * _NONCE)
        data_key, nonce = drawn[:_KEY], drawn[_KEY : _KEY + _NONCE]
        sealed = AESGCM(data_key).encrypt(nonce, value, purpose.encode())
        return self._wrapped(data_key, drawn[_KEY + _NONCE :]) + nonce + sealed

    def open(self, sealed: bytes, *, purpose: str) -> bytes:
        """Open a value sealed for this purpose; raise SetupError if not."""
        try:
            data_key = self._data_key(sealed)
            nonce = sealed[_VALUE_AT : _VALUE_AT + _NONCE]
            return AESGCM(data_key).decrypt(
                nonce, sealed[_VALUE_AT + _NONCE :], purpose.encode()
            )
        except (InvalidTag, KeyError, ValueError):
            what, _, _ = purpose.partition(" of ")
            raise SetupError(
                f"the {what} can't be decrypted with the keys in secrets_file: check "
                "that the file belongs to this database"
            ) from None

    def reseal(self, sealed: bytes) -> bytes:
        """Wrap the data key with the newest key; the value does not change."""
        try:
            data_key = self._data_key(sealed)
            nonce = secrets.token_bytes(_NONCE)
            return self._wrapped(data_key, nonce) + sealed[_VALUE_AT:]
        except (InvalidTag, KeyError):
            raise SetupError(
                "a sealed value can't be decrypted with secrets_file"
            ) from None

    def is_newest(self, sealed: bytes) -> bool:
        """Return whether the value is sealed under the newest key."""
        return sealed[1:_WRAPPED_AT] == self._newest

    def digest(self, value: bytes, *, purpose: str) -> bytes:
        """Return the keyed digest by which a value is looked up."""
        return hmac.digest(self._digesting, purpose.encode() + b"\0" + value, "sha256")

    def _follow_rotation(self) -> None:
        """Read the keys again if their file was replaced: one stat, 2 µs.

        A value that is sealed with a key after its rotation can never be opened again.
        """
        if self._file is None:
            return
        try:
            stat = self._file.stat()
            mark = stat.st_ino, stat.st_mtime_ns
            if mark == self._mark:
                return
            fresh = load_keyring(self._file)
        except (OSError, SetupError):
            return  # lost or broken meanwhile: the next start is refused
        if fresh.digesting == self._digesting:
            self._take(fresh)
        self._mark = mark

    def _wrapped(self, data_key: bytes, nonce: bytes) -> bytes:
        return (
            _VERSION + self._newest + nonce + self._wrap.encrypt(nonce, data_key, None)
        )

    def _data_key(self, sealed: bytes) -> bytes:
        nonce = sealed[_WRAPPED_AT : _WRAPPED_AT + _NONCE]
        id_ = sealed[1:_WRAPPED_AT]
        if id_ not in self._wrapping and self._file is not None:
            self._take(load_keyring(self._file))  # the keys were rotated while we ran
        wrapping = self._wrapping[id_]
        return wrapping.decrypt(nonce, sealed[_WRAPPED_AT + _NONCE : _VALUE_AT], None)
