"""What the market's hands do without a market, and when asks are added."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from leyden.app.main import leyden
from leyden.base import settings
from leyden.channels.rules.pricing import LEASES
from leyden.errors import Away, SetupError
from leyden.nodes.wiring.home import only_one
from leyden_workshop.cli.dev import dev
from leyden_workshop.devnet import access, opening, overview, trading
from leyden_workshop.devnet.layout import AuctionPorts, DaemonPorts, access_for
from leyden_workshop.devnet.stock import missing_leases
from tests.ports import free_port

PORTS = DaemonPorts(btcd=1, treasury_peer=2, treasury_grpc=3, treasury_rest=4)


def a_home(folder: Path, ports: DaemonPorts = PORTS) -> Path:
    access.folder(folder).mkdir(parents=True)
    access.save(folder, access_for(folder, "simnet", ports))
    return folder


async def test_a_chain_without_a_market_says_so(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    assert await overview.status(home) == {"market": "left out"}
    with pytest.raises(SetupError, match=r"has no market; .* devnet_market"):
        await trading.asks(home)
    with pytest.raises(SetupError, match="has no market"):
        await trading.register(home, "sidecar1harbour")


def a_market(folder: Path) -> Path:
    """Return a home with a market, none of whose daemons runs."""
    traders = AuctionPorts(**dict.fromkeys(AuctionPorts.__struct_fields__, 9))
    return a_home(folder, DaemonPorts(btcd=9, auction=traders))


async def test_a_market_that_is_away_is_not_open(tmp_path: Path) -> None:
    home = a_market(tmp_path)
    assert (await overview.status(home))["market"] == "not open"
    with pytest.raises(Away, match="the auctioneer does not respond"):
        await trading.tick(home)
    with pytest.raises(Away, match=r"poold .*; `leyden dev status --wait` waits"):
        await trading.register(home, "sidecar1harbour")


async def test_a_market_that_is_not_open_says_what_it_waits_for(tmp_path: Path) -> None:
    home = a_market(tmp_path)
    assert await overview.line(home) == "not open"
    opening.save(home, "building poold", within_s=130)
    assert await overview.line(home) == (
        "not open: building poold; it opens in about 2 minutes"
    )
    opening.save(home, "building poold", within_s=1)
    later = opening.find(home)
    assert later is not None
    assert later.words(later.at + 60) == (
        "building poold, which takes longer than estimated"
    )
    opening.save(home, "the network is down; `leyden up` tries again")
    assert await overview.line(home) == (
        "not open: the network is down; `leyden up` tries again"
    )
    opening.clear(home)
    opening.clear(home)
    assert await overview.line(home) == "not open"


def test_status_has_the_market_s_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_API_PORT", str(free_port()))
    home = a_market(tmp_path)
    opening.save(home, "building poold", within_s=130)
    printed = CliRunner().invoke(leyden, ["status", "--json", "--home", str(home)])
    assert (
        json.loads(printed.output)["market"] == "not open: the platform is not running"
    )
    with only_one(settings.load({"LEYDEN_HOME": str(home)})):
        printed = CliRunner().invoke(leyden, ["status", "--json", "--home", str(home)])
    assert json.loads(printed.output)["market"] == (
        "not open: building poold; it opens in about 2 minutes"
    )


@pytest.mark.usefixtures("logging_as_before")
def test_status_shows_a_chain_that_does_not_run(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    printed = CliRunner().invoke(dev, ["status", "--json", "--home", str(home)])
    found = json.loads(printed.output)
    assert found["market"] == "left out"
    assert found["height"] is None


def test_leases_that_are_nearly_sold_out_are_asked_for_again() -> None:
    plenty = [
        {"side": "ask", "duration": blocks, "sats": 90_000_000} for blocks in LEASES
    ]
    assert missing_leases(plenty) == []
    few = {"side": "ask", "duration": LEASES[0], "sats": 16_000_000}
    wish = {"side": "bid", "duration": LEASES[0], "sats": 90_000_000}
    assert missing_leases([*plenty[1:], few, wish]) == [LEASES[0]]
    assert missing_leases([]) == list(LEASES)
