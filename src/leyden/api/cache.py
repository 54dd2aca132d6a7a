"""The cache of API responses, by request and key."""

from collections.abc import Hashable
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
    body: bytes


class ApiCache:
    """Responses to authenticated requests, for as long as nothing is committed."""

    def __init__(self, database: Database) -> None:
        self._responses = ResponseCache(database)

    def key_of(self, scope: Any, key: str) -> CacheKey:
        """Return the cache key of a request."""
        return scope["method"], scope["raw_path"], self._responses.digest(key)

    async def find(
        self, request: CacheKey, *, now: datetime
    ) -> tuple[Hashable, CachedResponse | None]:
        """Return the database's edition, and what is cached unless the key ended."""
        edition, cached = await self._responses.find(request)
        if cached is not None and cached.principal.has_ended(now):
            return edition, None
        return edition, cached

    def keep(
        self, request: CacheKey, response: CachedResponse, *, edition: Hashable
    ) -> None:
        """Cache a response."""
        size = len(response.body)
        self._responses.keep(request, response, size=size, edition=edition)
