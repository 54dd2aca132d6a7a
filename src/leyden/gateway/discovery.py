"""The gateway of many machines: Envoys that ask our API for their routes.

They ask with `POST /v3/discovery:listeners` and say which version they have. The answer
comes when there is another one, so a change travels at once; after a while it is "not
modified" and they ask again. While we are away they go on with what they have.
"""

import asyncio
import hmac
import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

import msgspec

from leyden import logs
from leyden.errors import Away, Malformed, NotFound, Unauthorized
from leyden.gateway.base import Traffic
from leyden.gateway.envoy import LISTENER, Document, Listeners, Listening
from leyden.gateway.routes import Route

_log: Final = logs.get()
_REPEAT_S: Final = 1.0
SHORTEST_TOKEN: Final = 16
_TOKEN: Final = re.compile(rb'"token"\s{0,8}:\s{0,8}("(?:[^"\\]|\\.){0,512}")')
_MOST_TOKENS: Final = 4


class _Metadata(msgspec.Struct):
    token: str = ""


class _Node(msgspec.Struct):
    id: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Request(msgspec.Struct):
    node: _Node = msgspec.field(default_factory=_Node)
    version_info: str = ""
    type_url: str = LISTENER


class DiscoveryGateway:
    """All Envoys that know the token, told the same."""

    def __init__(self, listening: Listening, *, token: str) -> None:
        if len(token) < SHORTEST_TOKEN:
            raise ValueError(f"needs {SHORTEST_TOKEN} characters or more")
        self._listeners = Listeners(listening)
        self._token = token.encode()
        self._one_at_a_time = asyncio.Lock()
        self._document: Document | None = None
        self._changed = asyncio.Event()
        self._sent: dict[str, str] = {}  # the last version by gateway
        self._closing = False

    async def apply(self, routes: Iterable[Route]) -> None:
        """Make these the routes that every Envoy is told, the waiting ones now."""
        async with self._one_at_a_time:
            # In a thread: for thousands of routes it takes a tenth of a second.
            document = await asyncio.to_thread(self._listeners.document, tuple(routes))
            if self._document is None or document.version != self._document.version:
                self._document = document
                self._changed.set()
                self._changed = asyncio.Event()

    def close(self) -> None:
        """Let nobody wait any more: they ask again, whoever is there then."""
        self._closing = True
        self._changed.set()

    async def traffic(self) -> dict[str, Traffic]:
        """Give no figures: each of those machines keeps its own."""
        return {}

    async def answer(self, body: bytes, *, patience_s: float) -> bytes | None:
        """Answer a DiscoveryRequest; None is "not modified"."""
        if not self._shows_token(body):
            raise Unauthorized
        try:
            request = msgspec.json.decode(body, type=_Request)
        except msgspec.ValidationError as error:
            raise Malformed(str(error)) from None
        except RecursionError:
            raise Malformed("the body is nested too deeply") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Malformed("the body is not JSON") from None
        if not hmac.compare_digest(request.node.metadata.token.encode(), self._token):
            raise Unauthorized
        if request.type_url != LISTENER:
            raise NotFound
        return await self._newer(request, patience_s)

    def _shows_token(self, body: bytes) -> bool:
        """Return whether the token is in the body, before anything else is read of it.

        Where in the body it is, is looked at after: who knows it may be read.
        """
        shown = [
            _unquoted(each[1]) for each in islice(_TOKEN.finditer(body), _MOST_TOKENS)
        ]
        return any(hmac.compare_digest(each, self._token) for each in shown)

    async def _newer(self, request: _Request, patience_s: float) -> bytes | None:
        document, changed = self._document, self._changed
        who, has = request.node.id, request.version_info
        if document is None:
            # Started a moment ago. An empty answer would shut every node out.
            if not await _happens(changed, patience_s) or self._closing:
                raise Away("the routes are not known yet", retry_after_s=1)
        elif has == document.version:
            if not await _happens(changed, patience_s) or self._closing:
                return None
        elif self._sent.get(who) == document.version:
            # It was sent this and has it not: refused, or lost on the way.
            _log.warning("a gateway did not take its routes", gateway=who)
            await _happens(changed, min(_REPEAT_S, patience_s))
        assert self._document is not None  # noqa: S101  it is never taken back
        self._sent[who] = self._document.version
        return self._document.content


def _unquoted(literal: bytes) -> bytes:
    """Return the text of a JSON string, nothing where it is none."""
    try:
        return msgspec.json.decode(literal, type=str).encode()
    except (msgspec.DecodeError, ValueError):
        return b""


async def _happens(event: asyncio.Event, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            await event.wait()
    except TimeoutError:
        return False
    return True
