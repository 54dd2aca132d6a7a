"""The auction account: finding, opening, depositing, renewing.

If there are several and none is configured, the one with the most left is
used.
"""

from datetime import datetime
from typing import Any

from leyden.base.rules.times import from_us
from leyden.base.rules.units import Sats
from leyden.channels.tickets.poold import Poold
from leyden.channels.tickets.rules.auction import AuctionAccount
from leyden.channels.tickets.stubs import auctioneer_pb2 as auctioneer
from leyden.channels.tickets.stubs import trader_pb2 as trader
from leyden.errors import MarketAway

_RETRY_AFTER_S = 60


class PoolAccount:
    """One account of a poold."""

    def __init__(self, poold: Poold, *, trader_key: str = "") -> None:
        self._poold = poold
        self._trader_key = trader_key

    async def find(self) -> AuctionAccount:
        """Return the account; raise MarketAway if there is none."""
        request = trader.ListAccountsRequest(active_only=True)
        response = await self._poold.call("ListAccounts", request)
        accounts = [_account(each) for each in response.accounts]
        if self._trader_key:
            named = self._trader_key
            accounts = [each for each in accounts if each.trader_key == named]
        if not accounts:
            raise MarketAway(
                "no Pool account yet; `leyden pool open` opens one",
                retry_after_s=_RETRY_AFTER_S,
            )
        return max(accounts, key=lambda each: (each.can_buy, each.available))

    async def taproot(self) -> dict[str, bool]:
        """Return whether each account is of the new kind, by its key; closed ones too.

        What was bought from an account outlives it.
        """
        request = trader.ListAccountsRequest(active_only=False)
        response = await self._poold.call("ListAccounts", request)
        accounts = [_account(each) for each in response.accounts]
        return {each.trader_key: each.taproot for each in accounts}

    async def height(self, *, brief: bool = False) -> int:
        """Return the chain's height, as poold sees it."""
        request = trader.GetInfoRequest()
        response = await self._poold.call("GetInfo", request, brief=brief)
        return int(response.current_block_height)

    async def last_batch(self) -> datetime | None:
        """Return when the auction last cleared a batch; None if it never did."""
        request = auctioneer.BatchSnapshotsRequest(num_batches_back=1)
        response = await self._poold.call("BatchSnapshots", request, brief=True)
        for batch in response.batches:
            return from_us(batch.creation_timestamp_ns // 1_000)
        return None

    async def open(
        self, sats: Sats, *, blocks: int, fee_sat_per_kw: int
    ) -> AuctionAccount:
        """Open an account with coins of poold's lnd; it opens after some blocks."""
        request = trader.InitAccountRequest(
            account_value=sats,
            relative_height=blocks,
            fee_rate_sat_per_kw=fee_sat_per_kw,
            initiator="leyden",
        )
        return _account(await self._poold.call("InitAccount", request))

    async def deposit(self, sats: Sats, *, fee_sat_per_kw: int) -> AuctionAccount:
        """Deposit more coins of poold's lnd into the account."""
        request = trader.DepositAccountRequest(
            trader_key=await self._key(),
            amount_sat=sats,
            fee_rate_sat_per_kw=fee_sat_per_kw,
        )
        return _account((await self._poold.call("DepositAccount", request)).account)

    async def renew(self, *, blocks: int, fee_sat_per_kw: int) -> AuctionAccount:
        """Extend the account's expiry to `blocks` blocks from now."""
        request = trader.RenewAccountRequest(
            account_key=await self._key(),
            relative_expiry=blocks,
            fee_rate_sat_per_kw=fee_sat_per_kw,
        )
        return _account((await self._poold.call("RenewAccount", request)).account)

    async def close(self) -> None:
        """Close the connection to poold."""
        await self._poold.close()

    async def _key(self) -> bytes:
        return bytes.fromhex((await self.find()).trader_key)


def _account(account: Any) -> AuctionAccount:
    return AuctionAccount(
        trader_key=account.trader_key.hex(),
        state=trader.AccountState.Name(account.state).lower(),
        sats=Sats(account.value),
        available=Sats(account.available_balance),
        expires=account.expiration_height,
        taproot=account.version != trader.AccountVersion.ACCOUNT_VERSION_LEGACY,
    )
