"""The cache of responses, valid until the next commit.

Clients repeat the same requests. A response that is computed from rows alone
(`Records`) depends on the request, the caller, and the database, whose edition changes
with every commit of any process. So these are the cache key, and nothing has to be
invalidated.
"""

import hashlib
import secrets
from collections.abc import Hashable
from typing import Any

from leyden.storage.database import Database

MOST_BYTES = 16 * 1024 * 1024
LONGEST = 256 * 1024
_BESIDE = 1024  # the overhead of each, about


class ResponseCache:
    """The cached responses of the current edition."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cached: dict[Hashable, Any] = {}
        self._bytes = 0
        self._edition: Hashable = None
        self._hash = hashlib.blake2b(key=secrets.token_bytes(32), digest_size=32)

    def digest(self, word: str) -> bytes:
        """Return a digest of a key or a cookie, which are not stored in plaintext."""
        digest = self._hash.copy()
        digest.update(word.encode("latin-1"))
        return digest.digest()

    async def find(self, key: Hashable) -> tuple[Hashable, Any]:
        """Return the database's edition, and the response cached in it or None."""
        if (edition := await self._database.edition()) != self._edition:
            self._clear()
            self._edition = edition
        return edition, self._cached.get(key)

    def keep(
        self, key: Hashable, response: object, *, size: int, edition: Hashable
    ) -> None:
        """Cache a response begun in this edition, unless there is a newer one."""
        if edition != self._edition or size > LONGEST:
            return
        self._bytes += size + _BESIDE
        if self._bytes > MOST_BYTES:
            self._clear()
        self._cached[key] = response

    def _clear(self) -> None:
        self._cached.clear()
        self._bytes = 0
