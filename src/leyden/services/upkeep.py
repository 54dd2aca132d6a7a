"""The account at the auction is kept alive, and the operator told when it runs low."""

from leyden import figures, logs
from leyden.domain.auction import AuctionAccount
from leyden.domain.units import Sats
from leyden.errors import MarketAway, MarketRefused
from leyden.figures import Figure
from leyden.market.base import Account
from leyden.services.due import Due
from leyden.services.shop import Shop, Upkeep
from leyden.storage.database import Database
from leyden.values import Struct

log = logs.get()

_SAYS = {
    "leyden_auction_free_sats": "Satoshis left to buy channels with.",
    "leyden_auction_account_blocks": "Blocks until the account at the auction ends.",
    "leyden_auction_alarm": "1 when the operator has to look after the account.",
}


def _gauge(name: str) -> Figure:
    return figures.gauge(name, _SAYS[name])


class Standing(Struct, frozen=True, kw_only=True):
    """How we stand at the auction."""

    account: AuctionAccount
    outstanding: Sats  # what tickets outside the auction may still take
    height: int

    @property
    def free(self) -> Sats:
        """What is left to buy channels with."""
        return Sats(max(0, self.account.available - self.outstanding))

    @property
    def lasts(self) -> int:
        """Give the blocks until the account ends."""
        return self.account.expires - self.height

    def alarm(self, *, low: Sats) -> str:
        """Say what the operator has to do, if anything."""
        if not self.account.buys and self.account.state != "pending_update":
            return f"the account is {self.account.state}: nothing can be bought"
        if self.free < low:
            return f"{self.free} sat are left to buy with: `leyden pool deposit`"
        return ""


async def look(account: Account, database: Database) -> Standing:
    """Tell how we stand at the auction."""
    return Standing(
        account=await account.find(),
        outstanding=await database.reader.orders.outstanding(),
        height=await account.height(),
    )


async def keep(shop: Shop, due: Due) -> None:
    """Renew the account before it ends, and say when it runs low; for ever."""
    rules = shop.rules.upkeep
    try:
        if shop.account is not None:
            standing = await look(shop.account, shop.database)
            await _keep(shop.account, standing, rules)
    except (MarketAway, MarketRefused) as error:
        _gauge("leyden_auction_alarm").set(1)
        log.warning("the account at the auction is out of reach", why=str(error))
    async with due.transaction() as tx:
        await due.again(tx, due=shop.clock() + rules.every)


async def _keep(account: Account, standing: Standing, rules: Upkeep) -> None:
    _gauge("leyden_auction_free_sats").set(standing.free)
    _gauge("leyden_auction_account_blocks").set(standing.lasts)
    alarm = standing.alarm(low=rules.low)
    _gauge("leyden_auction_alarm").set(1 if alarm else 0)
    if alarm:
        log.warning("look after the account at the auction", why=alarm)
    if standing.account.renewal_due(
        standing.height, blocks_before=rules.renew_before_blocks
    ):
        renewed = await account.renew(
            blocks=rules.lives_blocks, fee_sat_per_kw=rules.fee_sat_per_kw
        )
        log.info("the account at the auction is renewed", until=renewed.expires)
