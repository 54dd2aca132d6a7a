"""The API: the table of its endpoints, and the one way all of them are answered."""

import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from leyden import logs
from leyden.api import idempotency, reading, whole
from leyden.api.counting import count
from leyden.api.known import Known, Requests
from leyden.api.operations import Methods, Operation, Problem, Request, Table
from leyden.api.reading import ClientLeft, Receive, Scope, Send
from leyden.api.sheets import Sheet
from leyden.api.uses import Uses
from leyden.api.whole import Headers
from leyden.domain.accounts import Principal
from leyden.domain.addresses import counted_as
from leyden.domain.keys import hint
from leyden.errors import (
    Forbidden,
    LeydenError,
    MethodNotAllowed,
    NotFound,
    Stale,
    Unauthorized,
)
from leyden.services import accounts
from leyden.services.limits import Failures, RateLimit
from leyden.services.platform import Platform

# Someone else moved it first: looking again settles all but the busiest rows.
_TRIES = 5
_JSON: Headers = [(b"content-type", b"application/json")]

log = logs.get()


class Api:
    """Answers every request to the table's paths, and only in JSON."""

    def __init__(self, platform: Platform, operations: Iterable[Operation]) -> None:
        self.table = Table(operations)
        self._platform = platform
        self._encode = msgspec.json.Encoder().encode
        self._known = Requests()
        self._uses = Uses(platform.database)
        self._requests = RateLimit(platform.settings.requests_per_minute)
        self._failures = Failures(platform.settings.failures_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = _JSON
        body: bytes | Sheet
        try:
            status, body, headers = await self._answer(scope, receive)
        except ClientLeft:
            return
        except LeydenError as error:
            status, body, headers = self._refusal(error, scope)
        except Exception:
            log.exception("an endpoint failed", path=scope["path"])
            status = 500
            body = self._encode(Problem("something went wrong here; it is being noted"))
        count(scope.get("operation", ""), status)
        if isinstance(body, Sheet):
            await body.send(send, head=scope["method"] == "HEAD")
            return
        await whole.answer(scope, send, status, headers, body)

    async def _answer(
        self, scope: Scope, receive: Receive
    ) -> tuple[int, bytes | Sheet, Headers]:
        method = scope["method"]
        if method == "OPTIONS" and (methods := self._find(scope)[0]):
            return 204, b"", [(b"allow", _allowed(methods))]
        key, content_type, repeated, accept = reading.headers_of_interest(scope)
        now = self._platform.clock()
        known = await self._let_in(scope, key, now=now)
        operation, principal = known.operation, known.principal
        if known.answer is not None and not scope["query_string"]:
            return 200, known.answer, _JSON
        given: dict[str, Any] = {}
        raw = b""
        if operation.body is not None:
            raw, given["body"] = await reading.read(
                receive, operation, content_type, owner=principal.organization_id
            )
            # Reading may have taken its time, and the key may have ended meanwhile.
            now = self._platform.clock()
            if not known.holds(self._platform.database.edition(), now):
                principal = await accounts.authenticate(
                    self._platform, key or "", now=now
                )
        if (query := reading.query(scope, operation)) is not None:
            given["query"] = query
        request = Request(
            platform=self._platform,
            principal=principal,
            path=known.parameters,
            now=now,
            accept=accept,
            key=idempotency.random_id() if operation.repeatable else idempotency.NO_ID,
        )

        if operation.repeatable and repeated is not None:

            async def run() -> idempotency.Answer:
                return 200, self._encode(await _run(operation, request, given))

            digest = idempotency.digest_request(f"{method} {scope['path']}", raw)
            header = idempotency.check(repeated)
            request.key = idempotency.id_for(principal, header, digest)
            status, body = await idempotency.answer_once(
                self._platform, principal, header, digest, now=request.now, run=run
            )
        else:
            answer = await _run(operation, request, given)
            if isinstance(answer, Sheet):
                return 200, answer, _JSON
            status, body = 200, self._encode(answer)
            known.keep(body)
        return status, body, _JSON

    def _find(self, scope: Scope) -> tuple[Methods, dict[str, str]]:
        if reading.is_disguised(scope["raw_path"]):
            return {}, {}
        return self.table.find(scope["path"])

    async def _let_in(self, scope: Scope, key: str | None, *, now: datetime) -> Known:
        """Tell who asks for what; refuse whoever may not, and who asks too often."""
        at_s = time.monotonic()
        address = counted_as(scope["client"][0]) if scope.get("client") else ""
        asked = None
        edition = self._platform.database.edition() if key else None
        if key and edition is not None:
            asked = self._known.asked(edition, scope, key)
            if (known := self._known.find(asked, now=now)) is not None:
                scope["operation"] = known.operation.name
                self._requests.take(known.principal.key_id, at_s=at_s)
                self._uses.note(known.principal.key_id, now=now, at_s=at_s)
                return known
        try:
            principal = await accounts.authenticate(self._platform, key or "", now=now)
        except Unauthorized:
            # Only now: a good key is good whatever others at its address have tried.
            self._failures.take(address, hint(key or ""), at_s=at_s)
            raise
        self._requests.take(principal.key_id, at_s=at_s)
        self._uses.note(principal.key_id, now=now, at_s=at_s)
        known = Known(edition, *self._what(scope, principal), principal)
        if asked is not None:
            self._known.keep(asked, known)
        return known

    def _what(
        self, scope: Scope, principal: Principal
    ) -> tuple[Operation, dict[str, str]]:
        """Tell what somebody asks for; refuse what is not there or not theirs."""
        methods, parameters = self._find(scope)
        if not methods:
            raise NotFound
        method = scope["method"]
        operation = methods.get("GET" if method == "HEAD" else method)
        if operation is None:
            raise MethodNotAllowed
        scope["operation"] = operation.name
        _check_may(principal, operation, parameters)
        return operation, parameters

    def _refusal(self, error: LeydenError, scope: Scope) -> tuple[int, bytes, Headers]:
        headers = _JSON
        if error.retry_after_s is not None:
            headers = [*_JSON, (b"retry-after", b"%d" % error.retry_after_s)]
        if isinstance(error, MethodNotAllowed):
            methods, _ = self.table.find(scope["path"])
            headers = [*_JSON, (b"allow", _allowed(methods))]
        status, message = error.status, error.message
        if status == 500:  # noqa: PLR2004  ours to mend, not to show
            log.error("an endpoint failed", path=scope["path"], why=message)
            message = "something went wrong here; it is being noted"
        return status, self._encode(Problem(message)), headers


def _check_may(
    principal: Principal, operation: Operation, parameters: Mapping[str, str]
) -> None:
    if operation.scope is not None and operation.scope not in principal.scopes:
        raise Forbidden
    own = principal.organization_id
    if parameters.get("organization_id", own) != own:
        raise NotFound


async def _run(operation: Operation, request: Request, given: dict[str, Any]) -> object:
    for _ in range(_TRIES - 1):
        try:
            return await operation.run(request, **given)
        except Stale:
            continue
    return await operation.run(request, **given)


def _allowed(methods: Iterable[str]) -> bytes:
    allowed = {*methods, "OPTIONS"}
    if "GET" in allowed:
        allowed.add("HEAD")
    return ", ".join(sorted(allowed)).encode()
