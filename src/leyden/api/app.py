"""The API: the table of its endpoints, and the one way all of them are answered."""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from leyden import logs
from leyden.api import bodies, idempotency, whole
from leyden.api.counting import count
from leyden.api.known import Known, Requests
from leyden.api.operations import Methods, Operation, Problem, Request, Table
from leyden.api.sheets import Sheet
from leyden.api.uses import Uses
from leyden.api.whole import Headers
from leyden.domain.accounts import Principal
from leyden.domain.addresses import counted_as
from leyden.errors import (
    Forbidden,
    LeydenError,
    Malformed,
    MethodNotAllowed,
    NotFound,
    NotJson,
    Stale,
    TooLarge,
    Unauthorized,
)
from leyden.services import accounts
from leyden.services.limits import RateLimit
from leyden.services.platform import Platform

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

LARGEST_BODY = 256 * 1024
# Someone else moved it first: looking again settles all but the busiest rows.
_TRIES = 5
_JSON: Headers = [(b"content-type", b"application/json")]

log = logs.get()


class ClientLeft(Exception):
    """The caller went away before the request was whole; nobody is there to answer."""


class Api:
    """Answers every request to the table's paths, and only in JSON."""

    def __init__(self, platform: Platform, operations: Iterable[Operation]) -> None:
        self.table = Table(operations)
        self._platform = platform
        self._encode = msgspec.json.Encoder().encode
        self._known = Requests()
        self._uses = Uses(platform.database)
        self._requests = RateLimit(platform.settings.requests_per_minute)
        self._failures = RateLimit(platform.settings.failures_per_minute)

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
        key, content_type, repeated, accept = _headers_of_interest(scope)
        now = self._platform.clock()
        known = await self._let_in(scope, key, now=now)
        operation, principal = known.operation, known.principal
        if known.answer is not None and not scope["query_string"]:
            return 200, known.answer, _JSON
        given: dict[str, Any] = {}
        raw = b""
        if operation.body is not None:
            raw, given["body"] = await _read(receive, operation, content_type)
            # Reading may have taken its time, and the key may have ended meanwhile.
            now = self._platform.clock()
            if not known.holds(self._platform.database.edition(), now):
                principal = await accounts.authenticate(
                    self._platform, key or "", now=now
                )
        if (query := _query(scope, operation)) is not None:
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
        if _is_disguised(scope["raw_path"]):
            return {}, {}
        return self.table.find(scope["path"])

    async def _let_in(self, scope: Scope, key: str | None, *, now: datetime) -> Known:
        """Tell who asks for what; refuse whoever may not, and who asks too often."""
        at_s = time.monotonic()
        address = counted_as(scope["client"][0]) if scope.get("client") else ""
        self._failures.check(address, at_s=at_s)
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
            self._failures.take(address, at_s=at_s)
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


def _is_disguised(raw_path: bytes) -> bool:
    """Tell whether anything but a space is written as a percent sign and digits."""
    return b"%" in raw_path and b"%" in raw_path.replace(b"%20", b"")


async def read_body(receive: Receive, largest: int = LARGEST_BODY) -> bytes:
    """Read the whole body; TooLarge as soon as it is, ClientLeft when it breaks off."""
    parts = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        part = message.get("body", b"")
        size += len(part)
        if size > largest:
            raise TooLarge(f"the body is larger than {largest // 1024} KiB")
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


async def _run(operation: Operation, request: Request, given: dict[str, Any]) -> object:
    for _ in range(_TRIES - 1):
        try:
            return await operation.run(request, **given)
        except Stale:
            continue
    return await operation.run(request, **given)


def _headers_of_interest(
    scope: Scope,
) -> tuple[str | None, bytes, bytes | None, bytes]:
    """Pick out the key, the content type, the Idempotency-Key and what to answer in."""
    key = content_type = repeated = accept = None
    for name, value in scope["headers"]:
        if name == b"x-service-auth":
            if key is not None:
                raise Unauthorized  # which of two would it be?
            key = value
        elif name == b"content-type":
            content_type = value
        elif name == b"accept":
            accept = value if accept is None else b"%b,%b" % (accept, value)
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise NotJson("the body must not be compressed")
        elif name == b"idempotency-key":
            if repeated is not None:
                raise Malformed("Idempotency-Key: was sent twice")
            repeated = value
    return (
        # The spaces around a value are none of it, says HTTP; the parser leaves some.
        key.decode("latin-1").strip(" \t") if key is not None else None,
        content_type or b"",
        repeated,
        accept or b"",
    )


async def _read(
    receive: Receive, operation: Operation, content_type: bytes
) -> tuple[bytes, Any]:
    """Read the body; none at all is as good as {} where nothing has to be said."""
    assert operation.body is not None  # noqa: S101  the caller looked
    if not operation.body_is_optional:
        _check_json(content_type)  # before reading what nobody will look at
    raw = await read_body(receive)
    if operation.body_is_optional:
        if not raw:  # whatever type some clients say that nothing has
            return raw, operation.body()
        _check_json(content_type)
    return raw, bodies.parse(raw, operation.body)


def _check_json(content_type: bytes) -> None:
    kind, _, parameters = content_type.lower().partition(b";")
    charset = parameters.strip().removeprefix(b"charset=").strip(b'"')
    if kind.strip() != b"application/json" or charset not in {b"", b"utf-8"}:
        raise NotJson


def _query(scope: Scope, operation: Operation) -> Any:
    raw = scope["query_string"]
    if operation.query is None:
        if raw:
            raise Malformed("this endpoint takes no query")
        return None
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise Malformed("the query is not well formed") from None
    given = dict(pairs)
    if len(given) != len(pairs):
        raise Malformed("the query has a name twice")
    return bodies.convert_query(given, operation.query)


def _allowed(methods: Iterable[str]) -> bytes:
    allowed = {*methods, "OPTIONS"}
    if "GET" in allowed:
        allowed.add("HEAD")
    return ", ".join(sorted(allowed)).encode()
