"""Encryption to a key that lies elsewhere, by age.

This machine has the public half alone, the recipient: what it encrypts, it cannot
open. The identity opens it; it is created once, and kept elsewhere.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from leyden.backups.store.calls import Failed, call
from leyden.errors import SetupError
from leyden.values import Struct, hiding

_DEADLINE_S: Final = 600.0
_RECIPIENT: Final = re.compile(r"age1[0-9a-z]{58}")
IDENTITY: Final = re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]{58}")


class AgeIdentity(Struct, frozen=True):
    """The key that opens, and the recipient that belongs to it."""

    text: str
    recipient: str

    __repr__ = hiding("text")


class Age(Struct, frozen=True, kw_only=True):
    """The two programs of age."""

    age: Path
    keygen: Path

    async def new_identity(self) -> AgeIdentity:
        """Create a key."""
        printed = await call(
            [self.keygen],
            doing="create a key",
            deadline_s=_DEADLINE_S,
            prints_secrets=True,
        )
        found = IDENTITY.search(printed.decode())
        if found is None:
            raise SetupError("create a key: age-keygen printed none")
        return await self.identity(found[0])

    async def identity(self, text: str) -> AgeIdentity:
        """Return an identity with its recipient."""
        printed = await call(
            [self.keygen, "-y"],
            given=f"{text}\n".encode(),
            doing="read the recovery key",
            deadline_s=_DEADLINE_S,
        )
        return AgeIdentity(text, printed.decode().strip())

    async def encrypt(self, content: bytes, recipients: Sequence[str]) -> bytes:
        """Encrypt for each of these recipients."""
        words: list[str | Path] = [self.age, "--encrypt"]
        for each in recipients:
            words += ["--recipient", check_recipient(each)]
        return await call(
            words, given=content, doing="encrypt the keys", deadline_s=_DEADLINE_S
        )

    async def decrypt(self, path: Path, identity: str) -> bytes:
        """Decrypt a file; raise SetupError if it is damaged, or the key is another."""
        try:
            return await call(
                [self.age, "--decrypt", "--identity", "-", path],
                given=f"{identity}\n".encode(),
                doing="open the keys in the backup",
                deadline_s=_DEADLINE_S,
                prints_secrets=True,
            )
        except Failed as error:
            if "no identity matched" in error.message:
                raise SetupError(
                    "this recovery key does not open the keys in the backup: it was "
                    "made for another recipient. Use the recovery key that `leyden "
                    "backup init` wrote for this store"
                ) from None
            raise SetupError(
                f"the keys in the backup are damaged: {error.message}; restore an "
                "older backup, see `leyden backup list`"
            ) from None


def check_recipient(text: str) -> str:
    """Return a recipient; raise SetupError if it is none."""
    if not _RECIPIENT.fullmatch(text):
        raise SetupError(f'recipient: "{text}" is not an age recipient (age1...)')
    return text
