"""API calls with retries and error handling."""

import re
import time
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from leyden import __version__
from leyden.client.wire import NoResponse, Received, Wire
from leyden.errors import LeydenError
from leyden.values import Struct, hiding

Answer = TypeVar("Answer")

_OK: Final = 200
_IN_PROGRESS: Final = 409  # with Retry-After; without, it is another conflict
_TOO_MANY: Final = 429
_TRY_LATER: Final = frozenset({_IN_PROGRESS, _TOO_MANY, 503})
# How a version of the API answers what it does not know.
_UNKNOWN: Final = frozenset({400, 404, 405})
_VERSION: Final = re.compile(r"(\d+\.\d+)\.\d+[0-9a-z.]{0,20}")
LONGEST_WAIT_S: Final = 30.0


class ApiError(LeydenError):
    """The platform returned an error, or could not be reached.

    `status` is the HTTP status, or 0 if there was no response. `message` is
    the platform's own message, and `retry_after_s` the requested wait, if
    any. Decide by `code`; `field` is what was wrong, and `request_id` what to
    tell the operator. They are "" where the platform says nothing.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        retry_after_s: int | None = None,
        code: str = "",
        field: str = "",
        request_id: str = "",
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self.status = status
        self.code, self.field, self.request_id = code, field, request_id


class Calls(Struct, frozen=True, kw_only=True):
    """Authenticated calls to the platform's API.

    A repeatable call is retried once after the wait that a 409, 429 or 503
    asks for, if the wait is short, and once more after a lost connection. A
    409 asks for one while the call that lost its connection is in progress.
    Repeatable calls are GETs, and calls with an Idempotency-Key, which is
    generated if not given. A call that got a 429 is always retried, since
    the platform did nothing.
    """

    url: str
    wire: Wire
    key: str
    longest_wait_s: float = LONGEST_WAIT_S

    __repr__ = hiding("key")

    def get(
        self,
        path: str,
        kind: type[Answer],
        **query: str | int | datetime | None,
    ) -> Answer:
        """Send a GET request."""
        parameters = {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in query.items()
            if value is not None
        }
        if parameters:
            path = f"{path}?{urlencode(parameters)}"
        return self._call("GET", path, kind, None, {}, repeatable=True)

    def post(self, path: str, kind: type[Answer], body: object = None) -> Answer:
        """Send a POST request; never repeat one that may have run."""
        return self._call("POST", path, kind, body, {}, repeatable=False)

    def post_once(
        self, path: str, kind: type[Answer], body: object, key: str | None
    ) -> Answer:
        """Send a POST with an Idempotency-Key: repeats take effect only once."""
        named = {"Idempotency-Key": key if key is not None else uuid.uuid4().hex}
        return self._call("POST", path, kind, body, named, repeatable=True)

    def delete(self, path: str, kind: type[Answer]) -> Answer:
        """Send a DELETE request."""
        return self._call("DELETE", path, kind, None, {}, repeatable=False)

    def _call(
        self,
        method: str,
        path: str,
        kind: type[Answer],
        body: object,
        more: Mapping[str, str],
        *,
        repeatable: bool,
    ) -> Answer:
        headers = {"X-SERVICE-AUTH": self.key, **more}
        content = None
        if body is not None:
            content = msgspec.json.encode(body)
            headers["Content-Type"] = "application/json"
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable()) or " " in value:
                # http.client would show the value in its error.
                raise ApiError(
                    f"{name}: has characters that are not allowed in a header",
                    status=0,
                )
        received = self._ask(method, path, content, headers, repeatable=repeatable)
        wait_s = _wait_s(received)
        if (
            wait_s is not None
            and wait_s <= self.longest_wait_s
            and (repeatable or received.status == _TOO_MANY)
        ):
            time.sleep(wait_s)
            received = self._ask(method, path, content, headers, repeatable=repeatable)
        return self._read(received, kind)

    def _ask(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        *,
        repeatable: bool,
    ) -> Received:
        tries = 2 if repeatable else 1
        while True:
            tries -= 1
            try:
                return self.wire.request(method, path, content, headers)
            except NoResponse as error:
                late = isinstance(error.__cause__, TimeoutError)
                if tries and error.sent and not late:
                    continue
                raise ApiError(
                    f"{self.url} does not respond: {error}", status=0
                ) from None

    def _read(self, received: Received, kind: type[Answer]) -> Answer:
        if received.status != _OK:
            raise _error(received, self.url)
        try:
            return msgspec.json.decode(received.body, type=kind)
        except msgspec.MsgspecError:
            raise ApiError(
                f"{self.url} sent an unexpected response; check that this is the URL "
                f"of the API{_other_version(received, self.url)}",
                status=received.status,
            ) from None


def word(given: str) -> str:
    """Escape a word for use as a path segment."""
    return quote(given, safe="")


def _wait_s(received: Received) -> int | None:
    retry_after = received.headers.get("retry-after", "")
    if received.status not in _TRY_LATER or not retry_after.isdecimal():
        return None
    return int(retry_after)


def _error(received: Received, url: str) -> ApiError:
    status = received.status
    try:
        body = msgspec.json.decode(received.body, type=dict[str, Any])
        message = str(body["message"])
    except (msgspec.MsgspecError, KeyError):
        body = {}
        message = f"{url} returned {status}; check that this is the URL of the API"
    else:
        if status in _UNKNOWN:
            message += _other_version(received, url)
    return ApiError(
        message,
        status=status,
        retry_after_s=_wait_s(received),
        code=received.headers.get("error-code", ""),
        field=str(body.get("field", "")),
        request_id=received.headers.get("request-id", ""),
    )


def _other_version(received: Received, url: str) -> str:
    """Return what to install if the platform has another release than this; or ""."""
    theirs = _VERSION.fullmatch(received.headers.get("leyden-version", ""))
    if theirs is None or __version__.startswith(f"{theirs[1]}."):
        return ""
    return (
        f"; the platform has Leyden {theirs[0]}, and this is {__version__}: "
        f"install that version, see {url}/docs/install-the-command"
    )
