"""Wiring of the auction: from settings to poold, account and market."""

from pathlib import Path

from leyden.errors import SetupError
from leyden.market.account import PoolAccount
from leyden.market.pool import PoolMarket
from leyden.market.poold import Access, Poold
from leyden.services.channels.book import OrderBook
from leyden.services.platform import Platform
from leyden.settings import Settings


def market_of(platform: Platform) -> tuple[PoolMarket, PoolAccount]:
    """Return the market that the settings ask for, and the account it buys from."""
    given = platform.settings
    poold = _poold(given)
    account = PoolAccount(poold, trader_key=given.pool_account.lower())
    market = PoolMarket(
        poold,
        account,
        OrderBook(platform.database),
        batch_fee_sat_per_kw=given.pool_batch_fee_sat_per_kw,
    )
    return market, account


def account_of(given: Settings) -> PoolAccount:
    """Return the account alone, for a command."""
    return PoolAccount(_poold(given), trader_key=given.pool_account.lower())


def _poold(given: Settings) -> Poold:
    """Return the poold that the settings name; whether it is there, calls will tell."""
    host, _, port = given.pool_host.rpartition(":")
    if not host or not port.isdecimal():
        raise SetupError("pool_host: must be HOST:PORT")
    for name in ("pool_certificate", "pool_macaroon"):
        if not getattr(given, name):
            raise SetupError(
                f"{name}: must be set, since market is pool: the path of the file"
            )
    return Poold(
        Access(
            host=given.pool_host,
            certificate=Path(given.pool_certificate),
            macaroon=Path(given.pool_macaroon),
        )
    )
