"""Route discovery for remote gateways: `POST /v3/discovery:listeners`.

An Envoy requests its listeners and gets a response when they change, so a
whitelist change takes effect at once. The Envoy authenticates with a token
in the body instead of an API key, because it cannot be configured with a
header.
"""

import logging
import time
from contextlib import suppress
from typing import Final

from leyden.base.http import problems
from leyden.base.http.limits import RateLimit
from leyden.base.http.reading import (
    LARGEST_BODY,
    ClientLeft,
    Receive,
    Scope,
    Send,
    rate_limited_as,
    read_body,
)
from leyden.base.http.request_metrics import count
from leyden.base.http.responses import NO_STORE
from leyden.errors import LeydenError, MethodNotAllowed, NotFound, TooMany, Unauthorized
from leyden.nodes.gateway.discovery import DiscoveryGateway

PATH: Final = "/v3/discovery:listeners"
# Shorter than what Envoys, and proxies between, wait for an answer.
PATIENCE_S: Final = 25.0
log = logging.getLogger(__name__)


class Gateways:
    """ASGI application for Envoys that present the gateway token."""

    def __init__(
        self,
        gateway: DiscoveryGateway,
        *,
        failures_per_minute: int,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._gateway = gateway
        self._failures = RateLimit(failures_per_minute)
        self._patience_s = patience_s

    def close(self) -> None:
        """Respond to all waiting Envoys, which then retry by themselves."""
        self._gateway.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; 304 means that nothing has changed."""
        headers = [(b"content-type", b"application/json"), NO_STORE]
        try:
            answer = await self._answer(scope, receive)
        except ClientLeft:
            return
        except LeydenError as error:
            status, body = error.status, problems.body(error)
            headers = [*problems.headers(error), NO_STORE]
        except Exception:
            log.exception("could not answer a gateway")
            status, body = 500, problems.body(LeydenError())
        else:
            status, body = (304, b"") if answer is None else (200, answer)
        count("gateways_discovery", status)
        if body:
            headers.append((b"content-length", b"%d" % len(body)))
        await send(
            {"type": "http.response.start", "status": status, "headers": headers}
        )
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, receive: Receive) -> bytes | None:
        if scope["path"] != PATH:
            raise NotFound
        if scope["method"] != "POST":
            raise MethodNotAllowed
        address = rate_limited_as(scope)
        self._failures.check(address, at_s=time.monotonic())
        try:
            body = await read_body(receive, LARGEST_BODY)
        except ClientLeft:
            # It held a connection, and may never have had a token.
            with suppress(TooMany):
                self._failures.take(address, at_s=time.monotonic())
            raise
        try:
            return await self._gateway.answer(body, patience_s=self._patience_s)
        except Unauthorized:
            self._failures.take(address, at_s=time.monotonic())
            raise
