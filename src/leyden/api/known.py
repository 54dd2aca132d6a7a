"""The answers that are kept for who asks the same again, and by what each is known."""

from datetime import datetime
from typing import Any

from leyden.domain.accounts import Principal
from leyden.services.shared.response_cache import KeptAnswers
from leyden.storage.database import Database
from leyden.values import Struct

Asked = tuple[str, bytes, bytes]  # method, path, digest of the key


class Known(Struct, frozen=True):
    """An answer, and to whom it was given."""

    principal: Principal
    operation: str
    body: bytes


class KnownRequests:
    """Requests of the present edition that were let in, and answered."""

    def __init__(self, database: Database) -> None:
        self._answers = KeptAnswers(database)

    def asked(self, scope: Any, key: str | None) -> Asked | None:
        """Return what a request is known by; None for one that is never kept."""
        if key is None or scope["query_string"] or scope["method"] == "POST":
            return None
        return scope["method"], scope["raw_path"], self._answers.digest(key)

    def find(self, asked: Asked, *, now: datetime) -> Known | None:
        """Return what it came to, unless somebody committed or the key ended since."""
        known: Known | None = self._answers.find(asked)
        return known if known and not known.principal.has_ended(now) else None

    def keep(self, asked: Asked, known: Known, *, edition: int | None) -> None:
        """Answer like this from now on."""
        self._answers.keep(asked, known, size=len(known.body), edition=edition)
