"""The listener of companions: `POST /nodes/NODE/report`, and nothing else.

It is apart from the API, at a port that nodes' pods may reach. Who calls is known by
the token of its pod, and may report on that pod's node alone.
"""

import logging
import re
import time
from functools import partial
from http import HTTPStatus
from typing import Final, Protocol

import msgspec

from leyden.base.http import bodies, problems, responses
from leyden.base.http.connections import ConnectionLimits
from leyden.base.http.limits import RateLimit
from leyden.base.http.parsing import PARSING
from leyden.base.http.reading import (
    ClientLeft,
    Receive,
    Scope,
    Send,
    rate_limited_as,
    read_body,
)
from leyden.base.http.request_metrics import count
from leyden.errors import (
    Forbidden,
    LeydenError,
    MethodNotAllowed,
    NotFound,
    Unauthorized,
)
from leyden.nodes import home_reports
from leyden.nodes.fleet import Fleet
from leyden.nodes.home_reports import Report, ReportReceipt
from leyden.nodes.rules.nodes import Node

# 4 MiB of backup in base64, and the rest.
_LARGEST: Final = 6 << 20
LIMITS: Final = ConnectionLimits(body_bytes=_LARGEST)
_LARGE: Final = 8 * 1024
# A backup for each channel that opens or closes, and one report every few minutes.
_PER_MINUTE: Final = 60
_NOT_YOURS: Final = "this pod's token is not valid for this node"
_PATH: Final = re.compile(r"/nodes/([A-Za-z0-9-]{1,64})/report")

log = logging.getLogger(__name__)


class TokenReviewer(Protocol):
    """A reviewer of pods' tokens."""

    async def check(self, token: str) -> None:
        """Raise Unauthorized unless a pod of ours shows its token."""
        ...

    async def speaks_for(self, token: str, node: Node) -> bool:
        """Return whether the token is of the pod that runs the node."""
        ...


class Companions:
    """ASGI application for companions that show their pods' tokens."""

    def __init__(
        self, fleet: Fleet, tokens: TokenReviewer, *, failures_per_minute: int
    ) -> None:
        self._fleet = fleet
        self._tokens = tokens
        self._failures = RateLimit(failures_per_minute)
        self._reports = RateLimit(_PER_MINUTE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = [(b"content-type", b"application/json")]
        try:
            status, body = 200, msgspec.json.encode(await self._answer(scope, receive))
        except ClientLeft:
            return
        except LeydenError as error:
            status, body = error.status, problems.body(error)
            headers = problems.headers(error)
            if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                log.warning("rejected a report", extra={"why": error.message})
        except Exception:
            log.exception("could not accept a report")
            status, body = 500, problems.body(LeydenError())
        count("companion_report", status)
        await responses.answer(scope, send, status, headers, body)

    async def _answer(self, scope: Scope, receive: Receive) -> ReportReceipt:
        """Know the caller before its body is read."""
        found = _PATH.fullmatch(scope["path"])
        if found is None:
            raise NotFound
        if scope["method"] != "POST":
            raise MethodNotAllowed
        address = rate_limited_as(scope)
        self._failures.check(address, at_s=time.monotonic())
        try:
            node = await self._node_of(_token(scope), found[1])
        except (Unauthorized, Forbidden):
            self._failures.take(address, at_s=time.monotonic())
            raise
        self._reports.take(node.id, at_s=time.monotonic())
        raw = await read_body(receive, _LARGEST)
        parse = partial(bodies.parse, raw, Report)
        large = len(raw) > _LARGE
        report = await PARSING.run(node.id, parse) if large else parse()
        return await home_reports.take(self._fleet, node, report)

    async def _node_of(self, token: str, node_id: str) -> Node:
        """Return the node; of another's pod it is not said whether there is one."""
        await self._tokens.check(token)
        node = await self._fleet.database.reader.nodes.find(node_id)
        if node is None or not await self._tokens.speaks_for(token, node):
            raise Forbidden(_NOT_YOURS)
        return node


def _token(scope: Scope) -> str:
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    kind, _, token = (found[0] if len(found) == 1 else b"").partition(b" ")
    if kind.lower() != b"bearer" or not token.isascii():
        raise Unauthorized("the header Authorization must be: Bearer TOKEN")
    return token.decode().strip()
