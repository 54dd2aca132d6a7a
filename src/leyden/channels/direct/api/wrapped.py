"""Wrapped invoices over HTTP, as Voltage's Flow 2.0 and ZEUS's embedded lnd speak them.

    GET  /api/v1/info
    POST /api/v1/fee        {"amount_msat": 100000000, "pubkey": "02.."}
    POST /api/v1/proposal   {"bolt11": "lnbc..", "fee_id": ".."}

Nobody signs in. Fields that we do not know are ignored: wallets send `host`, `port` and
`simpleTaproot`.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any, Final

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
from leyden.channels.direct.jit.proposals import Proposals
from leyden.channels.direct.rules.lsps1 import Fault
from leyden.channels.services import ChannelServices
from leyden.errors import Away, LeydenError, Malformed, MethodNotAllowed, NotFound

PREFIX: Final = "/api/v1/"
_METHODS: Final = {"info": "GET", "fee": "POST", "proposal": "POST"}
_LARGEST: Final = 8 * 1024
_encode = msgspec.json.Encoder().encode
log = logging.getLogger(__name__)


class WrappedOverHttp:
    """ASGI application for wallets that want their invoice wrapped."""

    def __init__(self, channels: ChannelServices) -> None:
        purse, rules = channels.purse, channels.rules.jit
        assert purse is not None  # noqa: S101  who makes it has looked
        assert rules is not None  # noqa: S101
        self._proposals = Proposals(channels, purse, rules)
        self._requests = RateLimit(rules.messages_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = [(b"content-type", b"application/json")]
        try:
            status, said = 200, await self._answer(scope, receive)
        except ClientLeft:
            return
        except LeydenError as error:
            status, said = _refusal(error)
            headers = problems.headers(error)
            if isinstance(error, MethodNotAllowed):
                verb = _METHODS[scope["path"].removeprefix(PREFIX)]
                headers.append((b"allow", verb.encode()))
        except Exception:
            log.exception("a request about a wrapped invoice failed")
            status, said = 500, {"error": INTERNAL, "message": INTERNAL}
            headers = problems.headers(LeydenError())
        count("wrapped invoices", status)
        await answer(scope, send, status, headers, _encode(said))

    async def _answer(self, scope: Scope, receive: Receive) -> Mapping[str, Any]:
        what = scope["path"].removeprefix(PREFIX)
        if what not in _METHODS:
            raise NotFound
        verb = "GET" if scope["method"] == "HEAD" else scope["method"]
        if verb != _METHODS[what]:
            raise MethodNotAllowed
        address = rate_limited_as(scope)
        self._requests.take(address, at_s=time.monotonic())
        if what == "info":
            return await self._proposals.info()
        body = _object(await read_body(receive, _LARGEST))
        if what == "fee":
            return await self._proposals.fee(body)
        return await self._proposals.propose(body, address)


def _object(raw: bytes) -> dict[str, Any]:
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise Malformed("the body must be a JSON object")
    return body


def _refusal(error: LeydenError) -> tuple[int, Mapping[str, Any]]:
    """Return what wallets read: `error` and `message`."""
    message = error.message
    if isinstance(error, Fault):
        message = str(error.data.get("message") or message)
    elif isinstance(error, Away):
        log.warning("can't wrap an invoice", extra={"why": str(error)})
    elif error.status >= 500:  # noqa: PLR2004
        log.error("can't wrap an invoice", extra={"why": str(error)})
        message = INTERNAL
    return error.status, {"error": error.error_code, "message": message}
