"""JSON-RPC of LSPS0 (bLIP-50): one JSON object in each message.

Only requests get a response: two peers that reject each other's responses
would continue forever.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

import msgspec

from leyden.base.database.stores import Stores
from leyden.channels.direct.rules import lsps1
from leyden.channels.direct.rules.lsps1 import Fault, is_ldk
from leyden.errors import Away, LeydenError, Refused, SoldOut

log = logging.getLogger(__name__)

# Far above the longest valid request; longer messages are ignored.
LONGEST: Final = 8 * 1024
_LONGEST_ID: Final = 128
_encode = msgspec.json.Encoder().encode

Transaction = Callable[[], AbstractAsyncContextManager[Stores]]


class Methods(Protocol):
    """The methods that peers may call."""

    async def result(
        self, peer: str, request: Mapping[str, Any], transaction: Transaction | None
    ) -> dict[str, Any]:
        """Return the result of a well-formed request; raise what `fault_of` knows."""
        ...


class Rpc:
    """Responds to requests of peers."""

    def __init__(self, methods: Methods) -> None:
        self._methods = methods

    async def answer(
        self, peer: str, raw: bytes, *, transaction: Transaction | None = None
    ) -> bytes | None:
        """Return the response to a message; None if it needs none.

        `transaction` opens transactions, which may be bound to the caller's task.
        """
        try:
            request = _request(raw)
        except Fault as fault:
            return _refusal(None, fault)
        if request is None:
            return None
        id_ = request["id"]
        try:
            result = await self._methods.result(peer, request, transaction)
        except LeydenError as error:
            return _refusal(id_, fault_of(error))
        except Exception:
            log.exception("an LSPS request failed", extra={"peer": peer})
            return _refusal(id_, Fault(lsps1.INTERNAL, "Internal error", {}))
        return _encode({"jsonrpc": "2.0", "id": id_, "result": result})


def fault_of(error: LeydenError) -> Fault:
    """Convert an error to what the client gets."""
    if isinstance(error, Fault):
        return error
    if isinstance(error, Refused | SoldOut):
        return lsps1.rejected(error.message)
    log.warning("can't answer an LSPS request", extra={"why": str(error)})
    # A temporary outage is reported as such; details of our own bugs are not shown.
    why = {"message": error.message} if isinstance(error, Away) else {}
    return Fault(lsps1.INTERNAL, "Internal error", why)


def _request(raw: bytes) -> Mapping[str, Any] | None:
    """Parse the request in a message; return None if it needs no response."""
    if len(raw) > LONGEST:
        return None
    try:
        request = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Fault(lsps1.PARSE, "Parse error", {}) from None
    if isinstance(request, dict) and "method" not in request:
        if "result" in request or "error" in request:
            return None  # a response, although we sent no request
    elif isinstance(request, dict) and "id" not in request:
        return None  # a notification
    if not _is_request(request):
        raise Fault(lsps1.INVALID, "Invalid request", {})
    found: Mapping[str, Any] = request
    return found


def _is_request(request: object) -> bool:
    return (
        isinstance(request, dict)
        and isinstance(request.get("method"), str)
        and isinstance(request.get("id"), str)
        and len(request["id"]) <= _LONGEST_ID
        and request.get("jsonrpc", "2.0") == "2.0"
    )


def _refusal(id_: str | None, fault: Fault) -> bytes:
    error: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.data and not is_ldk(id_):
        # LDK accepts a text here or nothing, and ignores us after anything else.
        error["data"] = fault.data
    elif fault.data:
        error["message"] = f"{fault.message}: {fault.data.get('message', '')}"
    return _encode({"jsonrpc": "2.0", "id": id_, "error": error})
