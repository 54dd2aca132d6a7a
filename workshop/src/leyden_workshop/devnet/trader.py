"""A REST client for a poold of the private chain."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

from leyden.customer.claim import rest
from leyden.errors import Refused
from leyden.nodes.lnd.connection import LndConnection
from leyden.values import Struct
from leyden_workshop.devnet.access import Pool

UNIT_SATS = 100_000
# What poold's own command line sends today.
_ORDER_VERSION = 5
# In the wild this is what a batch may cost at the most; ours costs 500.
_MAX_FEE_RATE = "5000"
_FUNDING_FEE_RATE = "500"
_ALIVE = frozenset({"PENDING_OPEN", "PENDING_UPDATE", "PENDING_BATCH", "OPEN"})


class TraderAccount(Struct, frozen=True, kw_only=True):
    """Money under joint control of poold and the auctioneer."""

    key: str  # hex
    sats: int
    available_sats: int  # what open orders have not set aside
    state: str
    expires: int  # the height

    @property
    def alive(self) -> bool:
        """Whether the account can trade now or will be able to."""
        return self.state in _ALIVE

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """Parse poold's JSON."""
        return cls(
            key=base64.b64decode(fields["trader_key"]).hex(),
            sats=int(fields["value"]),
            available_sats=int(fields["available_balance"]),
            state=fields["state"],
            expires=int(fields["expiration_height"]),
        )


class Trader:
    """A client for one poold."""

    def __init__(self, poold: LndConnection) -> None:
        self._poold = poold

    async def accounts(self) -> list[TraderAccount]:
        """List poold's accounts; raise Refused while the auctioneer is down."""
        answer = await self._poold.call("GET", "/v1/pool/accounts")
        return [TraderAccount.from_json(fields) for fields in answer["accounts"]]

    async def open_account(self, sats: int, *, blocks: int) -> TraderAccount:
        """Open an account with lnd's coins; mined blocks make it OPEN."""
        wish = {
            "account_value": str(sats),
            "relative_height": blocks,
            "fee_rate_sat_per_kw": _FUNDING_FEE_RATE,
        }
        return TraderAccount.from_json(
            await self._poold.call("POST", "/v1/pool/accounts", wish)
        )

    async def ask(
        self, account: TraderAccount, sats: int, *, rate_fixed: int, blocks: int
    ) -> None:
        """Submit an ask for channels of up to `sats`, for `blocks` blocks."""
        await self._submit(
            {
                "ask": {
                    "details": {
                        **_details(account, sats, rate_fixed),
                        "min_units_match": 1,
                    },
                    "lease_duration_blocks": blocks,
                    "version": _ORDER_VERSION,
                }
            }
        )

    async def offer(
        self, account: TraderAccount, sats: int, *, rate_fixed: int, blocks: int
    ) -> str:
        """Create a ticket for a channel; the bid follows its registration."""
        bid = {
            "details": {
                **_details(account, sats, rate_fixed),
                "min_units_match": sats // UNIT_SATS,
            },
            "lease_duration_blocks": blocks,
            "version": _ORDER_VERSION,
            "min_node_tier": "TIER_0",
        }
        wish = {"auto_negotiate": True, "bid": bid}
        answer = await self._poold.call("POST", "/v1/pool/sidecar/offer", wish)
        return str(answer["ticket"])

    async def register(self, ticket: str) -> None:
        """Register a ticket: its channel goes to this poold's lnd."""
        await self._poold.call("POST", "/v1/pool/sidecar/register", {"ticket": ticket})

    async def orders(self) -> dict[str, list[dict[str, Any]]]:
        """Return the open asks and bids as poold reports them."""
        answer = await self._poold.call("GET", "/v1/pool/orders?active_only=true")
        return {kind: list(answer[kind]) for kind in ("asks", "bids")}

    async def leases(self) -> list[dict[str, Any]]:
        """Return the leased channels that this poold bought or sold."""
        answer = await self._poold.call("GET", "/v1/pool/leases")
        return list(answer["leases"])

    async def _submit(self, wish: dict[str, object]) -> None:
        answer = await self._poold.call("POST", "/v1/pool/orders", wish)
        if invalid := answer.get("invalid_order"):
            raise Refused(str(invalid["fail_string"]))


def _details(account: TraderAccount, sats: int, rate_fixed: int) -> dict[str, object]:
    return {
        "trader_key": base64.b64encode(bytes.fromhex(account.key)).decode(),
        "amt": str(sats),
        "rate_fixed": rate_fixed,
        "max_batch_fee_rate_sat_per_kw": _MAX_FEE_RATE,
    }


@asynccontextmanager
async def connect(access: Pool) -> AsyncIterator[Trader]:
    """Yield a client for this poold, which need not be up yet."""
    async with rest.opened("poold", access) as poold:
        yield Trader(poold)
