"""What the settings of a shop say about where its channels come from."""

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings
from leyden.channels.rules.sources import Source
from leyden.channels.shop import Shop
from leyden.channels.tickets.none import NoMarket
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.shop import shop_of
from leyden.errors import MarketAway, SetupError
from leyden.operators.production import money
from leyden.values import replace

TREASURY = {"treasury_host": "127.0.0.1:8080"}
SELLER = {
    "seller_host": "127.0.0.1:8081",
    "seller_certificate": "tls.cert",
    "seller_macaroon": "seller.macaroon",
}


@pytest.fixture
def platform(sqlite_db: Database, sealer: Sealer) -> Platform:
    return Platform(
        settings=Settings(), database=sqlite_db, sealer=sealer, clock=utc_now
    )


def settings_with(**given: object) -> Settings:
    return Settings(**TREASURY, **given)  # type: ignore[arg-type]


def shop_with(platform: Platform, **given: object) -> Shop:
    shop = shop_of(replace(platform, settings=settings_with(**given)))
    assert shop is not None
    return shop


async def test_own_alone_needs_no_auction(platform: Platform) -> None:
    shop = shop_with(platform, market="own", **SELLER)
    assert shop.rules.sources == (Source.OWN,)
    assert isinstance(shop.market, NoMarket)
    with pytest.raises(MarketAway):
        await shop.market.terms()
    assert await shop.market.progress([]) == {}


def test_a_list_has_both(platform: Platform) -> None:
    shop = shop_with(platform, market="simulated, own", **SELLER)
    assert shop.rules.sources == (Source.SIMULATED, Source.OWN)
    assert isinstance(shop.market, SimulatedMarket)
    assert shop.seller is not None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "market: must be set, since treasury_host is: the sources of channels"),
        ({"market": "own"}, "market: seller_host must be set"),
        (
            {"market": "simulated", "mainnet_backend": "neutrino"},
            "market: must not be simulated on a platform with mainnet nodes",
        ),
    ],
)
def test_what_cannot_be_sold_is_no_setting(
    platform: Platform, given: dict[str, str], why: str
) -> None:
    with pytest.raises(SetupError, match=why):
        shop_with(platform, **given)


async def test_doctor_asks_for_a_list(platform: Platform) -> None:
    """One word beside a seller means both in this release, and no longer."""
    shop = shop_with(platform, market="simulated", **SELLER)
    assert shop.rules.sources == (Source.SIMULATED, Source.OWN)
    settings = settings_with(**SELLER, market="simulated")
    old = replace(platform, settings=settings, shop=shop)
    assert 'set market = "simulated, own"' in await money.listed(old)
    assert "tickets of a simulated market" in await money.auction(old)
    settings = settings_with(**SELLER, market="simulated, own")
    assert await money.listed(replace(old, settings=settings)) == ""
