"""What is asked of a poold of the private chain, by its REST."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

from leyden.devnet import rest
from leyden.devnet.access import Pool
from leyden.errors import Refused
from leyden.values import Struct

UNIT_SATS = 100_000
# What poold's own command line sends today.
_ORDER_VERSION = 5
# In the wild this is what a batch may cost at the most; ours costs 500.
_MOST_FEE_RATE = "5000"
_FUNDING_FEE_RATE = "500"
_ALIVE = frozenset({"PENDING_OPEN", "PENDING_UPDATE", "PENDING_BATCH", "OPEN"})


class Account(Struct, frozen=True, kw_only=True):
    """Money that poold and the auctioneer keep together."""

    key: str  # hex
    sats: int
    available_sats: int  # what open orders have not set aside
    state: str
    expires: int  # the height

    @property
    def alive(self) -> bool:
        """Whether it is or becomes one that can trade."""
        return self.state in _ALIVE

    @classmethod
    def told(cls, fields: dict[str, Any]) -> Self:
        """Read what poold tells."""
        return cls(
            key=base64.b64decode(fields["trader_key"]).hex(),
            sats=int(fields["value"]),
            available_sats=int(fields["available_balance"]),
            state=fields["state"],
            expires=int(fields["expiration_height"]),
        )


class Trader:
    """One poold."""

    def __init__(self, calls: rest.Rest) -> None:
        self._calls = calls

    async def accounts(self) -> list[Account]:
        """List its accounts; Refused while the auctioneer is away."""
        answer = await self._calls.call("GET", "/v1/pool/accounts")
        return [Account.told(fields) for fields in answer["accounts"]]

    async def open_account(self, sats: int, *, blocks: int) -> Account:
        """Open an account from its lnd's coins; it wants blocks to become OPEN."""
        wish = {
            "account_value": str(sats),
            "relative_height": blocks,
            "fee_rate_sat_per_kw": _FUNDING_FEE_RATE,
        }
        return Account.told(await self._calls.call("POST", "/v1/pool/accounts", wish))

    async def ask(
        self, account: Account, sats: int, *, rate_fixed: int, blocks: int
    ) -> None:
        """Offer channels of any size up to so much, for so many blocks."""
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
        self, account: Account, sats: int, *, rate_fixed: int, blocks: int
    ) -> str:
        """Make a ticket for a channel, and bid for it once somebody registers it."""
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
        answer = await self._calls.call("POST", "/v1/pool/sidecar/offer", wish)
        return str(answer["ticket"])

    async def register(self, ticket: str) -> None:
        """Take a ticket: the channel will be this poold's lnd's."""
        await self._calls.call("POST", "/v1/pool/sidecar/register", {"ticket": ticket})

    async def orders(self) -> dict[str, list[dict[str, Any]]]:
        """Give its open asks and bids as poold tells of them."""
        answer = await self._calls.call("GET", "/v1/pool/orders?active_only=true")
        return {kind: list(answer[kind]) for kind in ("asks", "bids")}

    async def leases(self) -> list[dict[str, Any]]:
        """Give the channels it bought or sold."""
        answer = await self._calls.call("GET", "/v1/pool/leases")
        return list(answer["leases"])

    async def _submit(self, wish: dict[str, object]) -> None:
        answer = await self._calls.call("POST", "/v1/pool/orders", wish)
        if invalid := answer.get("invalid_order"):
            raise Refused(str(invalid["fail_string"]))


def _details(account: Account, sats: int, rate_fixed: int) -> dict[str, object]:
    return {
        "trader_key": base64.b64encode(bytes.fromhex(account.key)).decode(),
        "amt": str(sats),
        "rate_fixed": rate_fixed,
        "max_batch_fee_rate_sat_per_kw": _MOST_FEE_RATE,
    }


@asynccontextmanager
async def opened(access: Pool) -> AsyncIterator[Trader]:
    """Give the poold behind this access; it need not answer yet."""
    async with rest.opened(
        "poold",
        access.rest,
        certificate=Path(access.certificate),
        macaroon=Path(access.macaroon),
    ) as calls:
        yield Trader(calls)
