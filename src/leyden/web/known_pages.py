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

Asked = tuple[str, bytes, bytes]  # path, query, digest of the visitor


class KnownPage(Struct, frozen=True):
    """A page, and to whom it was shown."""

    somebody: SignedIn
    body: bytes


class KnownPages:
    """Pages as shown to each visitor, for as long as nothing is committed."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._answers = ResponseCache(platform.database)

    async def find(
        self, scope: Any, *, now: datetime
    ) -> tuple[Hashable, KnownPage | None]:
        """Return the database's edition, and the page unless the session ended."""
        if (asked := self._asked(scope)) is None:
            return None, None
        edition, known = await self._answers.find(asked)
        if known is None:
            return edition, None
        goes_on = sign_in.goes_on(self._platform, known.somebody.session, now=now)
        return edition, known if goes_on else None

    def keep(self, scope: Any, known: KnownPage, *, edition: Hashable) -> None:
        """Cache a page."""
        if asked := self._asked(scope):
            self._answers.keep(asked, known, size=len(known.body), edition=edition)

    def _asked(self, scope: Any) -> Asked | None:
        headers = Headers(scope=scope)
        cookie = headers.get("cookie")
        if cookie is None or scope["method"] != "GET":
            return None
        # Which of the cookies is the session's hangs on scheme and port.
        who = f"{scope['scheme']} {headers.get('host', '')} {cookie}"
        return scope["path"], scope["query_string"], self._answers.digest(who)
