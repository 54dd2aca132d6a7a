"""LSPS1 over HTTP, in the shape that public LSPs have and wallets speak.

    GET  /lsps1/v1/get_info
    POST /lsps1/v1/create_order
    GET  /lsps1/v1/get_order?order_id=

Nobody signs in. ZEUS adds `/api/v1/` to what it is given, so the same is there too.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec

from leyden.base.http import problems
from leyden.base.http.limits import RateLimit
from leyden.base.http.problems import INTERNAL
from leyden.base.http.reading import (
    ClientLeft,
    Receive,
    Scope,
    Send,
    rate_limited_as,
    read_body,
)
from leyden.base.http.request_metrics import count
from leyden.base.http.responses import answer
from leyden.channels.direct.lsps1.limits import Orderer
from leyden.channels.direct.lsps1.rpc import fault_of
from leyden.channels.direct.lsps1.server import Lsps1
from leyden.channels.direct.rules import lsps1
from leyden.channels.direct.rules.lsps1 import Fault, Transport
from leyden.channels.services import ChannelServices
from leyden.errors import LeydenError, MethodNotAllowed, NotFound

PREFIX: Final = "/lsps1/"
_BASES: Final = ("/lsps1/v1/", "/lsps1/api/v1/")
_METHODS: Final = {"get_info": "GET", "create_order": "POST", "get_order": "GET"}
_LARGEST: Final = 8 * 1024
_encode = msgspec.json.Encoder().encode
log = logging.getLogger(__name__)


class Lsps1OverHttp:
    """ASGI application for anybody who wants a channel."""

    def __init__(self, channels: ChannelServices) -> None:
        assert channels.rules.lsps1 is not None  # noqa: S101  who makes it has looked
        self._lsps1 = Lsps1(channels)
        self._requests = RateLimit(channels.rules.lsps1.messages_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = [(b"content-type", b"application/json")]
        try:
            status, said = 200, await self._answer(scope, receive)
        except ClientLeft:
            return
        except LeydenError as error:
            status, said = _refusal(error)
            headers = problems.headers(NotFound() if status == 404 else error)  # noqa: PLR2004
            if isinstance(error, MethodNotAllowed):
                headers.append((b"allow", _allowed(scope["path"])))
        except Exception:
            log.exception("an LSPS1 request failed")
            status, said = 500, {"error": INTERNAL, "message": INTERNAL}
            headers = problems.headers(LeydenError())
        count("lsps1", status)
        await answer(scope, send, status, headers, _encode(said))

    async def _answer(self, scope: Scope, receive: Receive) -> Mapping[str, Any]:
        path: str = scope["path"]
        base = next((each for each in _BASES if path.startswith(each)), None)
        method = _METHODS.get(path.removeprefix(base)) if base else None
        if method is None:
            raise NotFound
        verb = "GET" if scope["method"] == "HEAD" else scope["method"]
        if verb != method:
            raise MethodNotAllowed
        address = rate_limited_as(scope)
        self._requests.take(address, at_s=time.monotonic())
        who = Orderer(source=Transport.HTTP, peer="", address=address)
        if path.endswith("get_info"):
            return {**await self._lsps1.info(), "uris": await self._uris()}
        if path.endswith("get_order"):
            found = await self._lsps1.get(_order_id(scope), who)
        else:
            found = await self._create(await read_body(receive, _LARGEST), address)
        return await self._lsps1.show(*found)

    async def _uris(self) -> list[str]:
        uri = await self._lsps1.uri()
        return [uri] if "@" in uri else []

    async def _create(self, raw: bytes, address: str) -> Any:
        try:
            params = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            params = None
        if not isinstance(params, dict):
            raise Fault(lsps1.PARSE, "Parse error", {"message": "send a JSON object"})
        peer = params.get("public_key")
        if not isinstance(peer, str):
            raise lsps1.invalid("public_key", "is required")
        who = Orderer(source=Transport.HTTP, peer=peer.lower(), address=address)
        return await self._lsps1.create(params, who, beside=("public_key",))


def _allowed(path: str) -> bytes:
    return b"POST" if path.endswith("create_order") else b"GET, HEAD"


def _order_id(scope: Scope) -> str:
    try:
        query = parse_qs(scope["query_string"].decode("ascii"))
    except (UnicodeDecodeError, ValueError):
        query = {}
    match query.get("order_id"):
        case [str(order_id)]:
            return order_id
    raise lsps1.invalid("order_id", "is required, once")


def _refusal(error: LeydenError) -> tuple[int, Mapping[str, Any]]:
    """Return what wallets read: `message`, and the fault that it stands for."""
    if isinstance(error, NotFound | MethodNotAllowed):
        return error.status, {"error": error.message, "message": error.message}
    fault = fault_of(error)
    status = error.status if error.status != 500 else 503  # noqa: PLR2004
    if fault.code == lsps1.NOT_FOUND:
        status = 404
    return status, {
        "error": fault.message,
        "message": fault.data.get("message") or fault.message,
        "code": fault.code,
        "data": fault.data,
    }
