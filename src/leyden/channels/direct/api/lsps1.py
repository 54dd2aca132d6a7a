"""LSPS1 over HTTP, in the shape that public LSPs have and wallets speak.

    GET  /lsps1/v1/get_info
    POST /lsps1/v1/create_order
    GET  /lsps1/v1/get_order?order_id=

ZEUS adds `/api/v1/` to what it is given, so the same is there too.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs

from leyden.channels.direct.api.wallets import WalletApi, WalletRequest
from leyden.channels.direct.lsps1.limits import Orderer
from leyden.channels.direct.lsps1.rpc import fault_of
from leyden.channels.direct.lsps1.server import Lsps1
from leyden.channels.direct.rules import lsps1
from leyden.channels.direct.rules.lsps1 import Fault, Transport
from leyden.channels.services import ChannelServices
from leyden.errors import LeydenError, MethodNotAllowed, NotFound

PREFIX: Final = "/lsps1/"
_BASES: Final = ("/lsps1/v1/", "/lsps1/api/v1/")
_METHODS: Final = {"get_info": "GET", "create_order": "POST", "get_order": "GET"}


class Lsps1OverHttp(WalletApi):
    """For anybody who wants a channel."""

    def __init__(self, channels: ChannelServices) -> None:
        rules = channels.rules.lsps1
        assert rules is not None  # noqa: S101  who makes it has looked
        super().__init__(
            "lsps1",
            {
                f"{base}{name}": method
                for base in _BASES
                for name, method in _METHODS.items()
            },
            requests_per_minute=rules.messages_per_minute,
        )
        self._lsps1 = Lsps1(channels)

    async def answer(self, request: WalletRequest) -> Mapping[str, Any]:
        """Answer one of the three."""
        if request.what == "get_info":
            return {**await self._lsps1.info(), "uris": await self._uris()}
        if request.what == "get_order":
            who = Orderer(source=Transport.HTTP, peer="", address=request.address)
            found = await self._lsps1.get(_order_id(request.query), who)
        else:
            found = await self._create(request)
        return await self._lsps1.show(*found)

    async def _uris(self) -> list[str]:
        uri = await self._lsps1.uri()
        return [uri] if "@" in uri else []

    async def _create(self, request: WalletRequest) -> Any:
        params = request.body
        if params is None:
            raise Fault(lsps1.PARSE, "Parse error", {"message": "send a JSON object"})
        peer = params.get("public_key")
        if not isinstance(peer, str):
            raise lsps1.invalid("public_key", "is required")
        who = Orderer(source=Transport.HTTP, peer=peer.lower(), address=request.address)
        return await self._lsps1.create(params, who, beside=("public_key",))

    def refusal(self, error: LeydenError) -> tuple[int, Mapping[str, Any]]:
        """Return what wallets read: `message`, and the fault that it stands for."""
        if isinstance(error, NotFound | MethodNotAllowed):
            return error.status, {"error": error.message, "message": error.message}
        fault = fault_of(error)
        status = error.status if error.status != 500 else 503  # noqa: PLR2004
        if fault.code == lsps1.NOT_FOUND:
            status = 404
        return status, {
            "error": fault.message,
            "message": fault.data.get("message") or fault.message,
            "code": fault.code,
            "data": fault.data,
        }


def _order_id(query: bytes) -> str:
    try:
        words = parse_qs(query.decode("ascii"))
    except (UnicodeDecodeError, ValueError):
        words = {}
    match words.get("order_id"):
        case [str(order_id)]:
            return order_id
    raise lsps1.invalid("order_id", "is required, once")
