"""The gateway for many machines: Envoys that poll our API for routes.

They send `POST /v3/discovery:listeners` with the version they have. The
answer comes once there is another version, so a change arrives at once;
after a while the answer is "not modified" and Envoy asks again. While we
are down, the Envoys continue with what they have.
"""

import asyncio
import hmac
import logging
import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

import msgspec

from leyden.errors import Away, Malformed, NotFound, Unauthorized
from leyden.nodes.gateway.envoy import LISTENER, Document, Documents
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.routes import Route

log = logging.getLogger(__name__)
_REPEAT_S: Final = 1.0
SHORTEST_TOKEN: Final = 16
_TOKEN: Final = re.compile(rb'"token"\s{0,8}:\s{0,8}("(?:[^"\\]|\\.){0,512}")')
_MAX_TOKENS: Final = 4


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
    """All Envoys that know the token; all of them get the same routes."""

    def __init__(self, options: ListenerOptions, *, token: str) -> None:
        if len(token) < SHORTEST_TOKEN:
            raise ValueError(f"needs {SHORTEST_TOKEN} characters or more")
        self._documents = Documents(options)
        self._token = token.encode()
        self._one_at_a_time = asyncio.Lock()
        self._document: Document | None = None
        self._changed = asyncio.Event()
        self._sent: dict[str, str] = {}  # the last version by gateway
        self._closing = False

    async def apply(self, routes: Iterable[Route]) -> None:
        """Replace the routes for every Envoy; answer waiting requests now."""
        async with self._one_at_a_time:
            # In a thread: for thousands of routes it takes a tenth of a second.
            document = await asyncio.to_thread(self._documents.document, tuple(routes))
            if self._document is None or document.version != self._document.version:
                self._document = document
                self._changed.set()
                self._changed = asyncio.Event()

    def close(self) -> None:
        """Answer all waiting requests: the gateways retry at another process."""
        self._closing = True
        self._changed.set()

    async def answer(self, body: bytes, *, patience_s: float) -> bytes | None:
        """Answer a DiscoveryRequest; None means "not modified"."""
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
        """Return whether the body contains the token, before it is parsed.

        The token's place in the body is checked later: a request that knows the
        token may be parsed.
        """
        shown = [
            _unquoted(each[1]) for each in islice(_TOKEN.finditer(body), _MAX_TOKENS)
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
            log.warning("a gateway rejected its routes", extra={"gateway": who})
            await _happens(changed, min(_REPEAT_S, patience_s))
        assert self._document is not None  # noqa: S101  it is never taken back
        self._sent[who] = self._document.version
        return self._document.content


def _unquoted(literal: bytes) -> bytes:
    """Return the text of a JSON string, empty if it is not one."""
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
