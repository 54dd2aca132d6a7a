"""What the settings of a shop say about where its channels come from."""

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings
from leyden.channels.rules.sources import Source
from leyden.channels.services import ChannelServices
from leyden.channels.tickets.none import NoMarket
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.channels import make_channels
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


def channels_with(platform: Platform, **given: object) -> ChannelServices:
    channels = make_channels(replace(platform, settings=settings_with(**given)))
    assert channels is not None
    return channels


async def test_own_alone_needs_no_auction(platform: Platform) -> None:
    channels = channels_with(platform, market="own", **SELLER)
    assert channels.rules.sources == (Source.OWN,)
    assert isinstance(channels.market, NoMarket)
    with pytest.raises(MarketAway):
        await channels.market.terms()
    assert await channels.market.progress([]) == {}


def test_a_list_has_both(platform: Platform) -> None:
    channels = channels_with(platform, market="simulated, own", **SELLER)
    assert channels.rules.sources == (Source.SIMULATED, Source.OWN)
    assert isinstance(channels.market, SimulatedMarket)
    assert channels.seller is not None


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
        channels_with(platform, **given)


async def test_doctor_asks_for_a_list(platform: Platform) -> None:
    """One word beside a seller means both in this release, and no longer."""
    channels = channels_with(platform, market="simulated", **SELLER)
    assert channels.rules.sources == (Source.SIMULATED, Source.OWN)
    settings = settings_with(**SELLER, market="simulated")
    old = replace(platform, settings=settings, channels=channels)
    assert 'set market = "simulated, own"' in await money.listed(old)
    assert "tickets of a simulated market" in await money.auction(old)
    settings = settings_with(**SELLER, market="simulated, own")
    assert await money.listed(replace(old, settings=settings)) == ""
