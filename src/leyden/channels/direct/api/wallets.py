"""What wallets call over HTTP: nobody signs in, and each answer is a JSON object."""

import logging
import time
from abc import ABC, abstractmethod
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
from leyden.errors import LeydenError, MethodNotAllowed, NotFound
from leyden.values import Struct

_LARGEST: Final = 8 * 1024
_encode = msgspec.json.Encoder().encode
log = logging.getLogger(__name__)


class WalletRequest(Struct, frozen=True, kw_only=True):
    """One request, within the limits of its address."""

    what: str  # the last word of its path
    query: bytes
    body: dict[str, Any] | None  # None: no JSON object, as of each GET
    address: str  # of its client, in the form that is limited


class WalletApi(ABC):
    """ASGI application for wallets; `paths` has the method of each path."""

    def __init__(
        self, name: str, paths: Mapping[str, str], *, requests_per_minute: int
    ) -> None:
        self._name, self._paths = name, paths
        self._requests = RateLimit(requests_per_minute)

    @abstractmethod
    async def answer(self, request: WalletRequest) -> Mapping[str, Any]:
        """Return the answer, or raise what `refusal` makes one of."""

    @abstractmethod
    def refusal(self, error: LeydenError) -> tuple[int, Mapping[str, Any]]:
        """Return the status and what wallets read."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = [(b"content-type", b"application/json")]
        try:
            status, said = 200, await self.answer(await self._read(scope, receive))
        except ClientLeft:
            return
        except LeydenError as error:
            status, said = self.refusal(error)
            headers = problems.headers(NotFound() if status == 404 else error)  # noqa: PLR2004
            if isinstance(error, MethodNotAllowed):
                is_post = self._paths[scope["path"]] == "POST"
                headers.append((b"allow", b"POST" if is_post else b"GET, HEAD"))
        except Exception:
            log.exception("a wallet's request failed", extra={"api": self._name})
            status, said = 500, {"error": INTERNAL, "message": INTERNAL}
            headers = problems.headers(LeydenError())
        count(self._name, status)
        await answer(scope, send, status, headers, _encode(said))

    async def _read(self, scope: Scope, receive: Receive) -> WalletRequest:
        path: str = scope["path"]
        if (method := self._paths.get(path)) is None:
            raise NotFound
        verb = "GET" if scope["method"] == "HEAD" else scope["method"]
        if verb != method:
            raise MethodNotAllowed
        address = rate_limited_as(scope)
        self._requests.take(address, at_s=time.monotonic())
        return WalletRequest(
            what=path.rpartition("/")[2],
            query=scope["query_string"],
            body=await _body(receive) if method == "POST" else None,
            address=address,
        )


async def _body(receive: Receive) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(await read_body(receive, _LARGEST))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
