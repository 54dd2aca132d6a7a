"""What may be asked without a key: health, the OpenAPI document, the page about it."""

from collections.abc import Awaitable, Callable
from functools import cached_property

import msgspec

from leyden.api.app import Api
from leyden.api.challenges import PREFIX, Challenges
from leyden.api.gateways import PATH, Gateways
from leyden.api.reading import Receive, Scope, Send
from leyden.api.whole import answer
from leyden.errors import Away
from leyden.services.platform import Platform

Answer = tuple[int, bytes, bytes]  # status, content type, body
_JSON = b"application/json"
_HTML = b"text/html; charset=utf-8"
_SECURITY = [
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class Public:
    """Answers the paths that need no key, and hands the rest to the API."""

    def __init__(
        self,
        platform: Platform,
        api: Api,
        *,
        version: str,
        gateways: Gateways | None = None,
        challenges: Challenges | None = None,
    ) -> None:
        self._platform = platform
        self._challenges = challenges
        self._gateways = gateways
        self._api = api
        self._version = version
        self._pages: dict[str, Callable[[], Awaitable[Answer]]] = {
            "/health/live": self._live,
            "/health/ready": self._ready,
            "/openapi.json": self._openapi,
            "/docs": self._docs,
        }

    @cached_property
    def document(self) -> bytes:
        """The OpenAPI document; writing it takes longer than a start should."""
        from leyden.api.openapi import document  # noqa: PLC0415  the same

        described = document(self._api.table, version=self._version)
        return msgspec.json.format(msgspec.json.encode(described), indent=2)

    @cached_property
    def page(self) -> bytes:
        """The same for people."""
        from leyden.api.manual import manual  # noqa: PLC0415  the same

        return manual(self._api.table.operations)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._gateways is not None and scope["path"] == PATH:
            await self._gateways(scope, receive, send)
            return
        if self._challenges is not None and scope["path"].startswith(PREFIX):
            await self._challenges(scope, receive, send)
            return
        page = self._pages.get(scope["path"])
        if page is None or scope["method"] not in {"GET", "HEAD"}:
            await self._api(scope, receive, send)
            return
        status, content_type, body = await page()
        headers = [(b"content-type", content_type), *_SECURITY]
        await answer(scope, send, status, headers, body)

    async def _live(self) -> Answer:
        return 200, _JSON, b'{"status":"live"}'

    async def _ready(self) -> Answer:
        try:
            await self._platform.database.reader.accounts.reach()
        except Away as error:
            return 503, _JSON, msgspec.json.encode({"message": error.message})
        return 200, _JSON, b'{"status":"ready"}'

    async def _openapi(self) -> Answer:
        return 200, _JSON, self.document

    async def _docs(self) -> Answer:
        return 200, _HTML, self.page
