"""What is known of a request that was made before, for as long as nothing changes.

Clients ask the same again and again: whose key this is, which endpoint, whether it may,
and often the answer itself follow from the request and the database alone. So they are
kept under the request and the database's edition, which every commit by anybody makes
another one. PostgreSQL has no edition that would be cheaper than asking, and nothing is
kept there.

No key is kept in the clear: requests are told apart by a digest.
"""

import hashlib
import secrets
from datetime import datetime
from typing import Any

from leyden.api.operations import Operation
from leyden.domain.accounts import Principal
from leyden.values import Struct

_MOST = 1_024
_LONGEST_ANSWER = 16 * 1024

Asked = tuple[int, str, bytes, bytes]  # edition, method, path, digest of the key


class Known(Struct):
    """Who asks for what, and what the answer was if nothing else decides about it."""

    edition: int | None
    operation: Operation
    parameters: dict[str, str]
    principal: Principal
    answer: bytes | None = None

    def holds(self, edition: int | None, now: datetime) -> bool:
        """Tell whether nothing has changed since, and the key has not ended."""
        return (
            edition is not None
            and edition == self.edition
            and not self.principal.has_ended(now)
        )

    def keep(self, answer: bytes) -> None:
        """Answer like this from now on, where the operation is steady."""
        if self.operation.is_steady and len(answer) <= _LONGEST_ANSWER:
            self.answer = answer


class Requests:
    """The requests of the present edition that were let through."""

    def __init__(self) -> None:
        self._known: dict[Asked, Known] = {}
        self._edition = -1
        self._hash = hashlib.blake2b(key=secrets.token_bytes(32), digest_size=32)

    def asked(self, edition: int, scope: Any, key: str) -> Asked:
        """Give what a request is known by."""
        digest = self._hash.copy()
        digest.update(key.encode("latin-1"))
        return edition, scope["method"], scope["raw_path"], digest.digest()

    def find(self, asked: Asked, *, now: datetime) -> Known | None:
        """Give what is known of it, unless its key has ended since."""
        if asked[0] != self._edition:
            self._known.clear()
            self._edition = asked[0]
        known = self._known.get(asked)
        return known if known is not None and known.holds(asked[0], now) else None

    def keep(self, asked: Asked, known: Known) -> None:
        """Know it from now on."""
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[asked] = known
