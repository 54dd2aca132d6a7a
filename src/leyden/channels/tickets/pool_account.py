"""Maintain the Pool account, and alert on low balance."""

import logging
from functools import cache

from prometheus_client import Gauge

from leyden.base.database.database import Database
from leyden.base.rules.units import Sats
from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.services import ChannelServices, Upkeep
from leyden.channels.tickets.base import AuctionDeposit
from leyden.channels.tickets.rules.auction import AuctionAccount
from leyden.errors import MarketAway, MarketRefused
from leyden.values import Struct

log = logging.getLogger(__name__)

METRICS = {
    "leyden_auction_free_sats": "Balance to buy channels with, in satoshis.",
    "leyden_auction_account_blocks": "Blocks until the Pool account expires.",
}


@cache
def _gauge(name: str) -> Gauge:
    """Return a gauge; call this once there is a value to show."""
    return Gauge(name, METRICS[name])


class PoolAccountState(Struct, frozen=True, kw_only=True):
    """The state of our Pool account."""

    account: AuctionAccount
    outstanding: Sats  # what tickets outside the auction may still take
    height: int

    @property
    def free(self) -> Sats:
        """The amount available for buying channels."""
        return Sats(max(0, self.account.available - self.outstanding))

    @property
    def blocks_left(self) -> int:
        """The blocks until the account expires."""
        return self.account.expires - self.height

    def alarm(self, *, low: Sats) -> str:
        """Return what the operator must do; empty if nothing."""
        if not self.account.can_buy and self.account.state != "pending_update":
            return (
                f"the account is {self.account.state}: the platform can't buy channels"
            )
        if self.free < low:
            return f"the balance is {self.free:,} sat: `leyden pool deposit` adds more"
        return ""


async def read(account: AuctionDeposit, database: Database) -> PoolAccountState:
    """Return the state of our Pool account."""
    return PoolAccountState(
        account=await account.find(),
        outstanding=await database.reader.orders.outstanding(),
        height=await account.height(),
    )


async def keep(channels: ChannelServices, due: ClaimedTask) -> None:
    """Renew the account before it expires; alert on low balance; never ends."""
    rules = channels.rules.upkeep
    try:
        if channels.account is not None:
            standing = await read(channels.account, channels.database)
            await _keep(channels.account, standing, rules)
    except (MarketAway, MarketRefused) as error:
        log.warning("can't reach the Pool account", extra={"why": str(error)})
    async with due.transaction() as tx:
        await due.reschedule(tx, due=channels.clock() + rules.every)


async def _keep(
    account: AuctionDeposit, standing: PoolAccountState, rules: Upkeep
) -> None:
    _gauge("leyden_auction_free_sats").set(standing.free)
    _gauge("leyden_auction_account_blocks").set(standing.blocks_left)
    alarm = standing.alarm(low=rules.low)
    if alarm:
        log.warning("the Pool account needs attention", extra={"why": alarm})
    if standing.account.renewal_due(
        standing.height, blocks_before=rules.renew_before_blocks
    ):
        renewed = await account.renew(
            blocks=rules.lives_blocks, fee_sat_per_kw=rules.fee_sat_per_kw
        )
        log.info("the Pool account is renewed", extra={"until": renewed.expires})
