"""The cache of API responses, by request and key."""

from datetime import datetime
from typing import Any

from leyden.domain.accounts import Principal
from leyden.services.shared.response_cache import ResponseCache
from leyden.storage.database import Database
from leyden.values import Struct

CacheKey = tuple[str, bytes, bytes]  # method, path, digest of the key


class CachedResponse(Struct, frozen=True):
    """A response, and the principal it was sent to."""

    principal: Principal
    operation: str
    body: bytes


class ApiCache:
    """Responses to authenticated requests, for as long as nothing is committed."""

    def __init__(self, database: Database) -> None:
        self._answers = ResponseCache(database)

    def key_of(self, scope: Any, key: str | None) -> CacheKey | None:
        """Return the cache key of a request; None if it is never cached."""
        if key is None or scope["query_string"] or scope["method"] == "POST":
            return None
        return scope["method"], scope["raw_path"], self._answers.digest(key)

    def find(self, request: CacheKey, *, now: datetime) -> CachedResponse | None:
        """Return the cached response, unless the key has ended since."""
        cached: CachedResponse | None = self._answers.find(request)
        return cached if cached and not cached.principal.has_ended(now) else None

    def keep(
        self, request: CacheKey, response: CachedResponse, *, edition: int | None
    ) -> None:
        """Cache a response."""
        self._answers.keep(request, response, size=len(response.body), edition=edition)
