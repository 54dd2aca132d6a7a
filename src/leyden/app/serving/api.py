"""The API application: authentication, routing and responses."""

import logging
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec

from leyden import __version__
from leyden.app.serving import idempotency
from leyden.base.http import problems, reading, responses, turns
from leyden.base.http.limits import Allowance, Failures, Refusals, Requests
from leyden.base.http.operations import Methods, Operation, Request, Table
from leyden.base.http.reading import (
    ClientLeft,
    Receive,
    Scope,
    Send,
    Wants,
    rate_limited_as,
)
from leyden.base.http.request_metrics import observe
from leyden.base.http.responses import Headers, Stream
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Principal
from leyden.base.rules.accounts import Scope as AuthScope
from leyden.base.settings.own_names import main_origin
from leyden.errors import (
    Forbidden,
    LeydenError,
    MethodNotAllowed,
    MissingScope,
    NotFound,
    Stale,
    TooMany,
    Unauthorized,
)
from leyden.people import api_keys
from leyden.people.api.key_usage import Uses
from leyden.people.rules.keys import hint
from leyden.values import Struct

# Another request changed the row first: a retry settles all but the busiest rows.
_TRIES = 5
_OPERATORS = "This key lacks the scope operator: only an operator's key has it."
_NOT_OPERATORS = (
    "A key with the scope operator reaches only the operator API. Use a key of the "
    "organization."
)
_JSON: Headers = [(b"content-type", b"application/json")]
_VERSION = (b"leyden-version", __version__.encode())

log = logging.getLogger(__name__)


class _Call(Struct, frozen=True):
    """An authenticated request, and its operation."""

    principal: Principal
    operation: Operation
    parameters: dict[str, str]
    wants: Wants
    now: datetime


class _Callers:
    """Authenticates callers, and counts their requests and failures."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._uses = Uses(platform.database)
        self._requests = Requests(platform.settings.requests_per_minute)
        self._refusals = Refusals()
        self._failures = Failures(platform.settings.failures_per_minute)

    async def authenticate(
        self, scope: Scope, key: str | None, *, now: datetime
    ) -> Principal:
        """Return the caller's principal; raise Unauthorized, or TooMany."""
        try:
            principal = await api_keys.authenticate(self._platform, key or "", now=now)
        except Unauthorized:
            # Only now: failures of others at an address must not lock out a valid key.
            address = rate_limited_as(scope)
            self._failures.take(address, hint(key or ""), at_s=time.monotonic())
            raise
        scope["allowance"] = await self.count(principal, now=now)
        return principal

    async def count(self, principal: Principal, *, now: datetime) -> Allowance:
        """Count a request; raise TooMany, after a wait, over the limits."""
        at_s = time.monotonic()
        who = principal.key_id, principal.organization_id
        try:
            self._requests.take(*who, at_s=at_s)
        except TooMany:
            await self._refusals.wait(principal.organization_id, at_s=at_s)
            raise
        self._uses.note(principal.key_id, now=now, at_s=at_s)
        return self._requests.allowance(*who, at_s=at_s)

    async def confirm(self, key: str | None) -> Principal:
        """Look a key up again, without counting: it may have ended meanwhile."""
        now = self._platform.clock()
        return await api_keys.authenticate(self._platform, key or "", now=now)


class Api:
    """ASGI application that serves the endpoint table, in JSON only."""

    def __init__(self, platform: Platform, operations: Iterable[Operation]) -> None:
        self.table = Table(operations)
        self._platform = platform
        self._origin = main_origin(platform.settings)  # where the guides are
        self._encode = msgspec.json.Encoder().encode
        self._callers = _Callers(platform)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        began = time.perf_counter()
        headers = _JSON
        body: bytes | Stream
        try:
            status, body, headers = await self._answer(scope, receive)
        except ClientLeft:
            return
        except LeydenError as error:
            status, body, headers = self._refusal(error, scope)
            if status == HTTPStatus.INTERNAL_SERVER_ERROR:
                extra = {"path": scope["path"], "why": error.message}
                log.error("an endpoint failed", extra=extra)  # noqa: TRY400
        except Exception:
            log.exception("an endpoint failed", extra={"path": scope["path"]})
            status, body, headers = self._refusal(LeydenError(), scope)
        headers = [*headers, _VERSION, *_allowance(scope, status)]
        took = time.perf_counter() - began
        observe(scope.get("operation", ""), scope["method"], status, took)
        if isinstance(body, Stream):
            await body.send(send, headers, head=scope["method"] == "HEAD")
            return
        await responses.answer(scope, send, status, headers, body)

    async def _answer(
        self, scope: Scope, receive: Receive
    ) -> tuple[int, bytes | Stream, Headers]:
        method = scope["method"]
        methods, parameters = self._find(scope)
        if method == "OPTIONS" and methods:
            return 204, b"", [(b"allow", _allowed(methods))]
        operation = methods.get("GET" if method == "HEAD" else method)
        wants = reading.wants(scope)
        now = self._platform.clock()
        principal = await self._callers.authenticate(scope, wants.key, now=now)
        if not methods:
            raise NotFound
        if operation is None:
            raise MethodNotAllowed
        scope["operation"] = operation.name
        _check_may(principal, operation, parameters)
        await turns.begin(principal.organization_id)
        if principal.is_operator:
            await self._audit(principal, scope, now=now)
        call = _Call(principal, operation, parameters, wants, now)
        return await self._execute(call, scope, receive)

    async def _execute(
        self, call: _Call, scope: Scope, receive: Receive
    ) -> tuple[int, bytes | Stream, Headers]:
        """Run the operation, and return status, body and headers."""
        operation, principal, now = call.operation, call.principal, call.now
        arguments: dict[str, Any] = {}
        raw = b""
        if operation.body is not None:
            raw, arguments["body"] = await reading.read(
                receive,
                operation,
                call.wants.content_type,
                owner=principal.organization_id,
            )
            # Reading may have taken long, and the key may have ended meanwhile.
            now = self._platform.clock()
            principal = await self._callers.confirm(call.wants.key)
        if (query := reading.query(scope, operation)) is not None:
            arguments["query"] = query
        request = Request(
            platform=self._platform,
            principal=principal,
            path=call.parameters,
            now=now,
            accept=call.wants.accept,
            last_event=call.wants.last_event,
            left=partial(reading.left, receive),
            confirm=partial(self._callers.confirm, call.wants.key),
            key=idempotency.random_id() if operation.repeatable else idempotency.NO_ID,
        )
        if not operation.repeatable or call.wants.repeated is None:
            result = await _run(operation, request, arguments)
            if isinstance(result, Stream):
                return 200, result, []
            return 200, self._encode(result), _JSON

        async def run() -> idempotency.Answer:
            return 200, self._encode(await _run(operation, request, arguments))

        target = f"{scope['method']} {scope['path']}"
        digest = idempotency.digest_request(target, raw)
        header = idempotency.check(call.wants.repeated)
        request.key = idempotency.id_for(principal, header, digest)
        status, body = await idempotency.answer_once(
            self._platform, principal, header, digest, now=now, run=run
        )
        return status, body, _JSON

    async def _audit(
        self, principal: Principal, scope: Scope, *, now: datetime
    ) -> None:
        """Record a call of the operator API before it is made."""
        async with self._platform.database.transaction() as tx:
            await tx.audit.add(
                at=now,
                actor=principal.actor,
                action="operator API called",
                subject=f"{scope['method']} {scope['path']}",
            )

    def _find(self, scope: Scope) -> tuple[Methods, dict[str, str]]:
        if reading.is_disguised(scope["raw_path"]):
            return {}, {}
        return self.table.find(scope["path"])

    def _refusal(self, error: LeydenError, scope: Scope) -> tuple[int, bytes, Headers]:
        headers = problems.headers(error)
        if isinstance(error, MethodNotAllowed):
            methods, _ = self.table.find(scope["path"])
            headers.append((b"allow", _allowed(methods)))
        return error.status, problems.body(error, origin=self._origin), headers


def _check_may(
    principal: Principal, operation: Operation, parameters: Mapping[str, str]
) -> None:
    if principal.is_operator is not (operation.scope is AuthScope.OPERATOR):
        if principal.is_operator:
            raise Forbidden(_NOT_OPERATORS)
        raise MissingScope(_OPERATORS)
    if principal.is_operator:
        return
    if operation.scope is not None and operation.scope not in principal.scopes:
        raise MissingScope(f"this key lacks the scope {operation.scope}")
    own = principal.organization_id
    if parameters.get("organization_id", own) != own:
        raise NotFound


async def _run(
    operation: Operation, request: Request, arguments: dict[str, Any]
) -> object:
    for _ in range(_TRIES - 1):
        try:
            return await operation.run(request, **arguments)
        except Stale:
            continue
    return await operation.run(request, **arguments)


def _allowance(scope: Scope, status: int) -> Headers:
    """Return the headers that say how much of the limit of requests is left."""
    allowance: Allowance | None = scope.get("allowance")
    if allowance is None or status == HTTPStatus.TOO_MANY_REQUESTS:  # which has its own
        return []
    return [
        (b"ratelimit-limit", b"%d" % allowance.limit),
        (b"ratelimit-remaining", b"%d" % allowance.remaining),
        (b"ratelimit-reset", b"%d" % allowance.reset_s),
    ]


def _allowed(methods: Iterable[str]) -> bytes:
    allowed = {*methods, "OPTIONS"}
    if "GET" in allowed:
        allowed.add("HEAD")
    return ", ".join(sorted(allowed)).encode()
