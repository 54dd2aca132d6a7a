"""What gateways of other machines ask for: `POST /v3/discovery:listeners`.

An Envoy asks which listeners to have, and is answered when that has changed: so a
whitelist travels at once. It shows a token instead of an API key, in the body, for it
cannot be told a header.
"""

import time
from typing import Final

import msgspec

from leyden import logs
from leyden.api.counting import count
from leyden.api.operations import Problem
from leyden.api.reading import ClientLeft, Receive, Scope, Send, read_body
from leyden.api.whole import NO_STORE
from leyden.domain.addresses import counted_as
from leyden.errors import LeydenError, MethodNotAllowed, Unauthorized
from leyden.gateway.discovery import DiscoveryGateway
from leyden.services.limits import RateLimit

_NOTED: Final = "something went wrong here; it is being noted"
PATH: Final = "/v3/discovery:listeners"
# Shorter than what Envoys, and proxies between, wait for an answer.
PATIENCE_S: Final = 25.0
log = logs.get()


class Gateways:
    """Answers Envoys that know the token, and nobody else."""

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
        """Answer those that wait: they ask again, whoever is there then."""
        self._gateway.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: 304 is that there is nothing new."""
        headers = [(b"content-type", b"application/json"), NO_STORE]
        try:
            answer = await self._answer(scope, receive)
        except ClientLeft:
            return
        except LeydenError as error:
            status, body = error.status, msgspec.json.encode(Problem(error.message))
            if error.retry_after_s is not None:
                headers.append((b"retry-after", b"%d" % error.retry_after_s))
        except Exception:
            log.exception("a gateway could not be answered")
            status, body = 500, msgspec.json.encode(Problem(_NOTED))
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
        if scope["method"] != "POST":
            raise MethodNotAllowed
        address = counted_as(scope["client"][0]) if scope.get("client") else ""
        self._failures.check(address, at_s=time.monotonic())
        body = await read_body(receive)
        try:
            return await self._gateway.answer(body, patience_s=self._patience_s)
        except Unauthorized:
            self._failures.take(address, at_s=time.monotonic())
            raise
