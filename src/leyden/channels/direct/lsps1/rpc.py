"""JSON-RPC of LSPS0 (bLIP-50): one JSON object in each message.

Only requests get a response: two peers that reject each other's responses
would continue forever.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from leyden.channels.direct.lsps1.limits import Orderer
from leyden.channels.direct.lsps1.server import Lsps1, Transaction
from leyden.channels.direct.rules import lsps1
from leyden.channels.direct.rules.lsps1 import Fault, Transport
from leyden.errors import Away, LeydenError, Refused, SoldOut

log = logging.getLogger(__name__)

# Far above the longest valid request; longer messages are ignored.
LONGEST: Final = 8 * 1024
_LONGEST_ID: Final = 128
# LDK's own ids: 16 random bytes. ZEUS sends UUIDs.
_LDK_ID: Final = re.compile(r"[0-9a-f]{32}")
_encode = msgspec.json.Encoder().encode


class Rpc:
    """Responds to requests of peers."""

    def __init__(self, lsps1: Lsps1) -> None:
        self._lsps1 = lsps1

    async def answer(
        self, peer: str, raw: bytes, *, transaction: Transaction | None = None
    ) -> bytes | None:
        """Return the response to a message; None if it needs none."""
        try:
            request = _request(raw)
        except Fault as fault:
            return _refusal(None, fault)
        if request is None:
            return None
        id_ = request["id"]
        try:
            result = await self._result(peer, request, transaction)
        except LeydenError as error:
            return _refusal(id_, fault_of(error))
        except Exception:
            log.exception("an LSPS1 request failed", extra={"peer": peer})
            return _refusal(id_, Fault(lsps1.INTERNAL, "Internal error", {}))
        return _encode({"jsonrpc": "2.0", "id": id_, "result": result})

    async def _result(
        self, peer: str, request: Mapping[str, Any], transaction: Transaction | None
    ) -> dict[str, Any]:
        params = request.get("params")
        params = {} if params is None else params
        if not isinstance(params, dict):
            raise lsps1.invalid("params", "must be an object")
        who = Orderer(source=Transport.BOLT8, peer=peer)
        match request["method"]:
            case "lsps0.list_protocols":
                lsps1.check_known(params, ())
                return {"protocols": [1]}
            case "lsps1.get_info":
                lsps1.check_known(params, ())
                return await self._lsps1.info()
            case "lsps1.create_order":
                made = await self._lsps1.create(params, who, transaction=transaction)
            case "lsps1.get_order":
                lsps1.check_known(params, ("order_id",))
                made = await self._lsps1.get(params.get("order_id"), who)
            case _:
                raise Fault(lsps1.METHOD, "Method not found", {})
        return await self._lsps1.show(*made, hides_hold=_is_ldk(request["id"]))


def fault_of(error: LeydenError) -> Fault:
    """Convert an error to what the client gets."""
    if isinstance(error, Fault):
        return error
    if isinstance(error, Refused | SoldOut):
        return lsps1.rejected(error.message)
    log.warning("can't answer an LSPS1 request", extra={"why": str(error)})
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


def _is_ldk(id_: str | None) -> bool:
    return id_ is not None and _LDK_ID.fullmatch(id_) is not None


def _refusal(id_: str | None, fault: Fault) -> bytes:
    error: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.data and not _is_ldk(id_):
        # LDK accepts a text here or nothing, and ignores us after anything else.
        error["data"] = fault.data
    elif fault.data:
        error["message"] = f"{fault.message}: {fault.data.get('message', '')}"
    return _encode({"jsonrpc": "2.0", "id": id_, "error": error})
