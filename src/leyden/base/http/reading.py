"""Reading and checking the parts of a request."""

from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from leyden.base.http import bodies
from leyden.base.http.operations import Operation
from leyden.base.http.parsing import PARSING
from leyden.base.rules.addresses import rate_limit_key
from leyden.errors import Malformed, NotJson, TooLarge, Unauthorized

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LARGEST_BODY = 256 * 1024
_LARGE = 8 * 1024


def rate_limited_as(scope: Scope) -> str:
    """Return what callers from this address are counted as; "" without one."""
    return rate_limit_key(scope["client"][0]) if scope.get("client") else ""


def is_disguised(raw_path: bytes) -> bool:
    """Return whether the path percent-encodes anything but a space."""
    return b"%" in raw_path and b"%" in raw_path.replace(b"%20", b"")


class Wants(NamedTuple):
    """What the headers of a request say that matters."""

    key: str | None
    content_type: bytes
    repeated: bytes | None  # the Idempotency-Key
    accept: bytes  # what to answer in
    last_event: str  # the Last-Event-ID


def wants(scope: Scope) -> Wants:
    """Pick out what matters."""
    content_type = repeated = accept = last_event = None
    for name, value in scope["headers"]:
        if name == b"content-type":
            content_type = value
        elif name == b"accept":
            accept = value if accept is None else b"%b,%b" % (accept, value)
        elif name == b"last-event-id":
            last_event = value
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise NotJson("the body must not be compressed")
        elif name == b"idempotency-key":
            if repeated is not None:
                raise Malformed("Idempotency-Key: was sent twice")
            repeated = value
    return Wants(
        _key(scope),
        content_type or b"",
        repeated,
        accept or b"",
        last_event.decode("latin-1") if last_event is not None else "",
    )


def _key(scope: Scope) -> str | None:
    """Return the API key, which either header may have; both, if they are equal."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        is_bearer = name == b"authorization" and value[:7].lower() == b"bearer "
        if is_bearer or name == b"x-service-auth":
            if name in found:
                raise Unauthorized  # which of two would it be?
            # The spaces around a value are none of it, says HTTP; the parser leaves
            # some.
            found[name] = value[7 if is_bearer else 0 :].strip(b" \t")
    keys = set(found.values())
    if len(keys) > 1:
        raise Unauthorized
    return keys.pop().decode("latin-1") if keys else None


async def left(receive: Receive) -> None:
    """Return once the caller has left; its body, if any, was read before."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def read(
    receive: Receive, operation: Operation, content_type: bytes, *, owner: str
) -> tuple[bytes, Any]:
    """Read the body; an empty one counts as {} if no field is required.

    A large body is parsed by a thread, in its owner's turn: 256 KiB of
    brackets take up to 70 ms.
    """
    assert operation.body is not None  # noqa: S101  the caller looked
    if not operation.body_is_optional:
        _check_json(content_type)  # before reading what nobody will look at
    raw = await read_body(receive, LARGEST_BODY)
    if operation.body_is_optional:
        if not raw:  # whatever type some clients say that nothing has
            return raw, operation.body()
        _check_json(content_type)
    parse = partial(bodies.parse, raw, operation.body)
    return raw, await PARSING.run(owner, parse) if len(raw) > _LARGE else parse()


def _check_json(content_type: bytes) -> None:
    kind, _, parameters = content_type.lower().partition(b";")
    charset = parameters.strip().removeprefix(b"charset=").strip(b'"')
    if kind.strip() != b"application/json" or charset not in {b"", b"utf-8"}:
        raise NotJson


def query(scope: Scope, operation: Operation) -> Any:
    """Parse the query string; return None if the endpoint takes none."""
    raw = scope["query_string"]
    if operation.query is None:
        if raw:
            raise Malformed("the query must be empty: this endpoint has no parameters")
        return None
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise Malformed("the query is malformed") from None
    parameters = dict(pairs)
    if len(parameters) != len(pairs):
        raise Malformed("the query has a duplicate parameter")
    return bodies.convert_query(parameters, operation.query)


class ClientLeft(Exception):
    """The client disconnected before the request was complete."""


async def read_body(receive: Receive, largest: int, *, what: str = "body") -> bytes:
    """Read the whole body.

    Raise TooLarge as soon as the limit is passed, and ClientLeft if the
    client disconnects.
    """
    parts = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        part = message.get("body", b"")
        size += len(part)
        if size > largest:
            raise TooLarge(f"the {what} is larger than {largest // 1024} KiB")
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)
