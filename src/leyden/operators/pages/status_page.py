"""The page /status: for everybody, without sign-in, and the same for all.

It is made at most once in some seconds, so that a flood of requests costs nothing.
"""

import asyncio
import time
from collections.abc import MutableMapping
from typing import Any, Final

import msgspec

from leyden import __version__
from leyden.base.http.responses import answer
from leyden.base.pages.origins import Origins, security_headers
from leyden.base.pages.templates import environment
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso
from leyden.operators import public_status
from leyden.operators.public_status import Health, PublicStatus, ServicePart

PATH: Final = "/status"
LABELS: Final = {
    ServicePart.API: "API and dashboard",
    ServicePart.GATEWAY: "Gateway to nodes",
    ServicePart.CHAIN: "Bitcoin chain",
    ServicePart.PAYMENTS: "Payments",
    ServicePart.TICKETS: "Channels from the auction",
    ServicePart.CHANNELS: "Channels from our own node",
}
WORDS: Final = {
    Health.UP: ("Up", "running"),
    Health.LIMITED: ("Limited", "pending"),
    Health.DOWN: ("Down", "failed"),
    Health.UNKNOWN: ("Unknown", "unknown"),
}
_FRESH_S: Final = 10.0
_HTML: Final = b"text/html; charset=utf-8"
_JSON: Final = b"application/json"


class StatusPage:
    """ASGI application of one page, in HTML or JSON by the Accept header."""

    def __init__(
        self, platform: Platform, *, origins: Origins, fresh_s: float = _FRESH_S
    ) -> None:
        self._platform = platform
        self._origins = origins
        self._protection = security_headers(platform.settings)
        self._protection.pop("cache-control")  # every whole answer says it already
        self._fresh_s = fresh_s
        self._made_s = float("-inf")
        self._made: tuple[int, bytes, bytes] = (200, b"", b"")  # status, HTML, JSON
        self._making = asyncio.Lock()

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Any, send: Any
    ) -> None:
        """Handle one request."""
        del receive
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        protection = {**self._protection, **self._origins.protection(host)}
        sent = [(name.encode(), value.encode()) for name, value in protection.items()]
        if scope["method"] not in {"GET", "HEAD"}:
            await answer(scope, send, 405, [*sent, (b"allow", b"GET, HEAD")], b"")
            return
        status, html, json = await self._current()
        accept = headers.get(b"accept", b"")
        wants_json = _JSON in accept and b"text/html" not in accept
        kind, body = (_JSON, json) if wants_json else (_HTML, html)
        sent += [(b"content-type", kind), (b"vary", b"accept")]
        await answer(scope, send, status, sent, body)

    async def _current(self) -> tuple[int, bytes, bytes]:
        """Return the page, made anew if it is some seconds old."""
        if time.monotonic() - self._made_s >= self._fresh_s:
            async with self._making:
                if time.monotonic() - self._made_s >= self._fresh_s:
                    found = await public_status.read(self._platform)
                    self._made = _rendered(found)
                    self._made_s = time.monotonic()
        return self._made


def _rendered(found: PublicStatus) -> tuple[int, bytes, bytes]:
    html = (
        environment(version=__version__)
        .get_template("status/show.html")
        .render(found=found, labels=LABELS, words=WORDS, overall=_overall(found))
    )
    shown = {
        "status": _overall(found).value,
        "updated": to_iso(found.at),
        "parts": [
            {"part": part.value, "status": health.value}
            for part, health in found.parts.items()
        ],
        "incidents": [
            {
                "part": each.part.value,
                "status": each.health.value,
                "began": to_iso(each.began),
                "ended": to_iso(each.ended) if each.ended else None,
            }
            for each in found.incidents
        ],
    }
    status = 503 if found.parts[ServicePart.API] is Health.DOWN else 200
    return status, html.encode(), msgspec.json.encode(shown)


def _overall(found: PublicStatus) -> Health:
    order = (Health.DOWN, Health.LIMITED, Health.UNKNOWN)
    return next((each for each in order if each in found.parts.values()), Health.UP)
