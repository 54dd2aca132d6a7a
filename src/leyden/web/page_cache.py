"""The cache of pages, by request and visitor."""

from collections.abc import Hashable
from datetime import datetime
from typing import Any

from starlette.datastructures import Headers

from leyden.domain.sign_in import SignedIn
from leyden.services.people import sign_in
from leyden.services.platform import Platform
from leyden.services.shared.response_cache import ResponseCache
from leyden.values import Struct

CacheKey = tuple[str, bytes, bytes]  # path, query, digest of the visitor


class CachedPage(Struct, frozen=True):
    """A page, and to whom it was shown."""

    somebody: SignedIn
    body: bytes


class PageCache:
    """Pages as shown to each visitor, for as long as nothing is committed."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._pages = ResponseCache(platform.database)

    async def find(
        self, scope: Any, *, now: datetime
    ) -> tuple[Hashable, CachedPage | None]:
        """Return the database's edition, and the page unless the session ended."""
        if (key := self._key_of(scope)) is None:
            return None, None
        edition, cached = await self._pages.find(key)
        if cached is None:
            return edition, None
        goes_on = sign_in.goes_on(self._platform, cached.somebody.session, now=now)
        return edition, cached if goes_on else None

    def keep(self, scope: Any, page: CachedPage, *, edition: Hashable) -> None:
        """Cache a page."""
        if key := self._key_of(scope):
            self._pages.keep(key, page, size=len(page.body), edition=edition)

    def _key_of(self, scope: Any) -> CacheKey | None:
        headers = Headers(scope=scope)
        cookie = headers.get("cookie")
        if cookie is None or scope["method"] != "GET":
            return None
        # Which of the cookies is the session's hangs on scheme and port.
        who = f"{scope['scheme']} {headers.get('host', '')} {cookie}"
        return scope["path"], scope["query_string"], self._pages.digest(who)
