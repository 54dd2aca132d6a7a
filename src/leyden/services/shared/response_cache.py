"""Answers kept for as long as nothing is committed: the one cache there is.

Clients ask the same again and again. An answer that was made of rows alone (`Records`)
follows from what was asked, by whom, and the database, whose edition every commit by
anybody makes another one. So it is kept under these, and there is nothing to
invalidate. PostgreSQL has no edition that would be cheaper than asking, and nothing is
kept there.
"""

import hashlib
import secrets
from collections.abc import Hashable
from typing import Any

from leyden.storage.database import Database

MOST_BYTES = 16 * 1024 * 1024
LONGEST = 256 * 1024
_BESIDE = 1024  # what each takes beside its bytes, about


class KeptAnswers:
    """The answers of the present edition."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: dict[Hashable, Any] = {}
        self._bytes = 0
        self._edition: int | None = None
        self._hash = hashlib.blake2b(key=secrets.token_bytes(32), digest_size=32)

    def digest(self, word: str) -> bytes:
        """Return what stands for a key or a cookie: none is kept in the clear."""
        digest = self._hash.copy()
        digest.update(word.encode("latin-1"))
        return digest.digest()

    def find(self, asked: Hashable) -> Any:
        """Return what was kept under this, unless somebody has committed since."""
        if (edition := self._database.edition()) != self._edition:
            self._forget()
            self._edition = edition
        return self._kept.get(asked)

    def keep(
        self, asked: Hashable, answer: object, *, size: int, edition: int | None
    ) -> None:
        """Keep an answer whose making began in this edition, unless that has passed."""
        if edition is None or edition != self._edition or size > LONGEST:
            return
        self._bytes += size + _BESIDE
        if self._bytes > MOST_BYTES:
            self._forget()
        self._kept[asked] = answer

    def _forget(self) -> None:
        self._kept.clear()
        self._bytes = 0
