"""Wiring of the auction: from settings to poold, account and market."""

from pathlib import Path

from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.channels.tickets.account import PoolAccount
from leyden.channels.tickets.book import OrderBook
from leyden.channels.tickets.pool import PoolMarket
from leyden.channels.tickets.poold import Poold, PooldAccess
from leyden.errors import SetupError


def make_market(platform: Platform) -> tuple[PoolMarket, PoolAccount]:
    """Return the configured market, and the account that it buys from."""
    settings = platform.settings
    poold = _poold(settings)
    account = PoolAccount(poold, trader_key=settings.pool_account.lower())
    market = PoolMarket(
        poold,
        account,
        OrderBook(platform.database),
        batch_fee_sat_per_kw=settings.pool_batch_fee_sat_per_kw,
    )
    return market, account


def make_account(settings: Settings) -> PoolAccount:
    """Return the account alone, for a command."""
    return PoolAccount(_poold(settings), trader_key=settings.pool_account.lower())


def _poold(settings: Settings) -> Poold:
    """Return a client for the configured poold; calls fail if it is not reachable."""
    host, _, port = settings.pool_host.rpartition(":")
    if not host or not port.isdecimal():
        raise SetupError("pool_host: must be HOST:PORT")
    for name in ("pool_certificate", "pool_macaroon"):
        if not getattr(settings, name):
            raise SetupError(
                f"{name}: must be set, since market is pool: the path of the file"
            )
    return Poold(
        PooldAccess(
            host=settings.pool_host,
            certificate=Path(settings.pool_certificate),
            macaroon=Path(settings.pool_macaroon),
        )
    )
