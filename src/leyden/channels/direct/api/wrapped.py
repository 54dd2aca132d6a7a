"""Wrapped invoices over HTTP, as Voltage's Flow 2.0 and ZEUS's embedded lnd speak them.

    GET  /api/v1/info
    POST /api/v1/fee        {"amount_msat": 100000000, "pubkey": "02.."}
    POST /api/v1/proposal   {"bolt11": "lnbc..", "fee_id": ".."}

Fields that we do not know are ignored: wallets send `host`, `port` and `simpleTaproot`.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

from leyden.base.http.problems import INTERNAL
from leyden.channels.direct.api.wallets import WalletApi, WalletRequest
from leyden.channels.direct.jit.proposals import Proposals
from leyden.channels.direct.rules.lsps1 import Fault
from leyden.channels.services import ChannelServices
from leyden.errors import Away, LeydenError, Malformed

PREFIX: Final = "/api/v1/"
_METHODS: Final = {"info": "GET", "fee": "POST", "proposal": "POST"}
log = logging.getLogger(__name__)


class WrappedOverHttp(WalletApi):
    """For wallets that want their invoice wrapped."""

    def __init__(self, channels: ChannelServices) -> None:
        purse, rules = channels.purse, channels.rules.jit
        assert purse is not None  # noqa: S101  who makes it has looked
        assert rules is not None  # noqa: S101
        super().__init__(
            "wrapped invoices",
            {f"{PREFIX}{name}": method for name, method in _METHODS.items()},
            requests_per_minute=rules.messages_per_minute,
        )
        self._proposals = Proposals(channels, purse, rules)

    async def answer(self, request: WalletRequest) -> Mapping[str, Any]:
        """Answer one of the three."""
        if request.what == "info":
            return await self._proposals.info()
        if request.body is None:
            raise Malformed("the body must be a JSON object")
        if request.what == "fee":
            return await self._proposals.fee(request.body)
        return await self._proposals.propose(request.body, request.address)

    def refusal(self, error: LeydenError) -> tuple[int, Mapping[str, Any]]:
        """Return what wallets read: `error` and `message`."""
        message = error.message
        if isinstance(error, Fault):
            message = str(error.data.get("message") or message)
        elif isinstance(error, Away):
            log.warning("can't wrap an invoice", extra={"why": str(error)})
        elif error.status >= 500:  # noqa: PLR2004
            log.error("can't wrap an invoice", extra={"why": str(error)})
            message = INTERNAL
        return error.status, {"error": error.error_code, "message": message}
