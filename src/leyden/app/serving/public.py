"""Endpoints without an API key: health and OpenAPI; and, for this machine, metrics."""

import time
from collections.abc import Awaitable, Callable, Iterable
from functools import cached_property

import msgspec
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    disable_created_metrics,
    generate_latest,
)

from leyden.app.serving.api import Api
from leyden.base.http import problems
from leyden.base.http.limits import RateLimit
from leyden.base.http.reading import Receive, Scope, Send, rate_limited_as
from leyden.base.http.responses import answer
from leyden.base.platform import Platform
from leyden.channels.direct.api import lsps1
from leyden.channels.direct.api import wrapped as wrapped_api
from leyden.channels.direct.api.lsps1 import Lsps1OverHttp
from leyden.channels.direct.api.wrapped import WrappedOverHttp
from leyden.errors import LeydenError
from leyden.manual.openapi import document as openapi
from leyden.nodes.api.challenges import PREFIX, Challenges
from leyden.nodes.api.gateways import PATH, Gateways

# A series for each series, which tells when it began: nobody has asked for them.
disable_created_metrics()  # type: ignore[no-untyped-call]

Answer = tuple[int, bytes, bytes]  # status, content type, body
_JSON = b"application/json"
_DOCUMENT = "/openapi.json"
# Needs no key, and is a thousand times as long as a response about health.
_DOCUMENTS_PER_MINUTE = 60
_HEADERS = [
    (b"content-security-policy", b"default-src 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class Public:
    """ASGI application for public paths; passes the others to the API."""

    def __init__(
        self,
        platform: Platform,
        api: Api,
        *,
        version: str,
        gateways: Gateways | None = None,
        challenges: Challenges | None = None,
        sold: Lsps1OverHttp | None = None,
        wrapped: WrappedOverHttp | None = None,
        servers: Iterable[str] = (),
    ) -> None:
        self._platform = platform
        self._challenges = challenges
        self._gateways = gateways
        self._lsps1 = sold
        self._wrapped = wrapped
        self._api = api
        self._version = version
        self._servers = tuple(servers)
        self._pages: dict[str, Callable[[], Awaitable[Answer]]] = {
            "/health/live": self._live,
            "/health/ready": self._ready,
            _DOCUMENT: self._openapi,
        }
        self._documents = RateLimit(_DOCUMENTS_PER_MINUTE)

    @cached_property
    def document(self) -> bytes:
        """The OpenAPI document, built on first use to keep the start fast."""
        described = openapi(
            self._api.table, version=self._version, servers=self._servers
        )
        return msgspec.json.format(msgspec.json.encode(described), indent=2)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if self._gateways is not None and scope["path"] == PATH:
            await self._gateways(scope, receive, send)
            return
        if self._challenges is not None and scope["path"].startswith(PREFIX):
            await self._challenges(scope, receive, send)
            return
        if self._lsps1 is not None and scope["path"].startswith(lsps1.PREFIX):
            await self._lsps1(scope, receive, send)
            return
        if self._wrapped is not None and scope["path"].startswith(wrapped_api.PREFIX):
            await self._wrapped(scope, receive, send)
            return
        page = self._pages.get(scope["path"])
        if page is None or scope["method"] not in {"GET", "HEAD"}:
            await self._api(scope, receive, send)
            return
        headers = [*_HEADERS]
        try:
            if scope["path"] == _DOCUMENT:
                self._count(scope)
            status, content_type, body = await page()
            headers.append((b"content-type", content_type))
        except LeydenError as error:
            status, body = error.status, problems.body(error)
            headers += problems.headers(error)
        await answer(scope, send, status, headers, body)

    def _count(self, scope: Scope) -> None:
        """Raise TooMany for an address that asks for the document too often."""
        self._documents.take(rate_limited_as(scope), at_s=time.monotonic())

    async def _live(self) -> Answer:
        return 200, _JSON, b'{"status":"live"}'

    async def _ready(self) -> Answer:
        await self._platform.database.reader.accounts.reach()
        return 200, _JSON, b'{"status":"ready"}'

    async def _openapi(self) -> Answer:
        return 200, _JSON, self.document


async def metrics(scope: Scope, _: Receive, send: Send) -> None:
    """Serve GET /metrics, on a listener that only loopback reaches."""
    found = scope["path"] == "/metrics" and scope["method"] in {"GET", "HEAD"}
    body = generate_latest() if found else b'{"message":"not found"}'
    kind = CONTENT_TYPE_PLAIN_0_0_4.encode() if found else b"application/json"
    status = 200 if found else 404
    await answer(scope, send, status, [(b"content-type", kind)], body)
