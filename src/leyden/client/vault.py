"""The vault: a node's stored backups, which only their owner can open.

The vault's password is the wallet's password: one to remember.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from leyden.client import jwe, macaroons, salted
from leyden.client.backups import Backups, Resealed
from leyden.client.calls import ApiError
from leyden.errors import CannotOpen, Malformed
from leyden.values import Struct, hiding

SEED_WORDS: Final = 24
_APART = re.compile(r"[\s,;.:0-9]+")
_WORD = re.compile(r"[a-z]{3,8}")
_ABSENT = 404


class Backup(Struct, frozen=True, kw_only=True):
    """A stored backup; its name is "" for the seed."""

    node_id: str
    kind: str  # seed, or macaroon
    name: str = ""
    value: str = ""

    __repr__ = hiding("value")

    @property
    def about(self) -> dict[str, str]:
        """The backup's node, kind and name, as in its JWE header."""
        named = {"name": self.name} if self.name else {}
        return {"node": self.node_id, "kind": self.kind, **named}

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


def seed_words(text: str) -> list[str]:
    """Parse the words of a seed, numbered or not; Malformed if invalid.

    Other clients encrypt base64 of "word,word,...".
    """
    words = _words(text)
    if not _are_a_seed(words):
        try:
            words = _words(base64.b64decode(text.strip(), validate=True).decode())
        except (binascii.Error, ValueError):
            words = []
    if not _are_a_seed(words):
        raise Malformed(f"a seed has {SEED_WORDS} words, in order")
    return words


def seal(backup: Backup, secret: str, password: str) -> str:
    """Encrypt a seed (words separated by spaces) or a macaroon (in hex)."""
    return jwe.seal(secret, password, backup.about)


def open_(backup: Backup, password: str) -> str:
    """Decrypt a backup: a seed's words with spaces, or a macaroon in hex."""
    read = _READERS[backup.kind]
    if backup.value.startswith(salted.PREFIX):
        return read(salted.open_(backup.value, password, _is_read_by(read)))
    text = jwe.open_(backup.value, password, backup.about)
    try:
        return read(text)
    except Malformed as error:
        raise CannotOpen(f"it was opened, but {error.message}") from None


def backups_of(backups: Backups, node_id: str) -> list[Backup]:
    """Fetch all stored backups of a node, the seed first."""
    found = []
    try:
        seed = backups.seed(node_id).seed
        found.append(Backup(node_id=node_id, kind="seed", value=seed))
    except ApiError as error:
        if error.status != _ABSENT:
            raise
    found += [
        macaroon(backups, node_id, item.name) for item in backups.macaroons(node_id)
    ]
    return found


def macaroon(backups: Backups, node_id: str, name: str) -> Backup:
    """Fetch one stored macaroon."""
    value = backups.macaroon(node_id, name).macaroon
    return Backup(node_id=node_id, kind="macaroon", name=name, value=value)


def resealed(
    found: Iterable[Backup], passwords: Sequence[str], new: str
) -> tuple[list[Resealed], list[Backup]]:
    """Re-encrypt the backups that one of the passwords opens.

    Return the re-encrypted backups, and those that none of the passwords
    opens. Each new ciphertext is decrypted once as a check.
    """
    anew, left = [], []
    for backup in found:
        secret = _opened_by_any(backup, passwords)
        if secret is None:
            left.append(backup)
            continue
        after = seal(backup, secret, new)
        again = Backup(
            node_id=backup.node_id, kind=backup.kind, name=backup.name, value=after
        )
        if open_(again, new) != secret:
            raise CannotOpen(f"{backup}: was not sealed as it should be")
        anew.append(
            Resealed(name=backup.name or None, before=backup.value, after=after)
        )
    return anew, left


def _opened_by_any(backup: Backup, passwords: Sequence[str]) -> str | None:
    for password in passwords:
        try:
            return open_(backup, password)
        except CannotOpen:
            continue
    return None


def _words(text: str) -> list[str]:
    return [word for word in _APART.split(text.lower()) if word]


def _are_a_seed(words: Sequence[str]) -> bool:
    return len(words) == SEED_WORDS and all(map(_WORD.fullmatch, words))


def _is_read_by(read: Callable[[str], str]) -> Callable[[str], bool]:
    def is_whole(text: str) -> bool:
        try:
            read(text)
        except Malformed:
            return False
        return True

    return is_whole


_READERS: Final[dict[str, Callable[[str], str]]] = {
    "seed": lambda text: " ".join(seed_words(text)),
    "macaroon": lambda text: macaroons.parse(text).hex,
}
