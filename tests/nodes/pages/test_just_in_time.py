"""Receive, where the payment can open the channel that it needs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from leyden.app.front import make_front
from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.values import replace
from tests.base.pages.screen import NARROW
from tests.base.pages.visitor import Visitor
from tests.channels.api.flow.conftest import World
from tests.channels.api.test_wrapped import Sold
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.node_pages import NodePages, channel, node_pages
from tests.programs import needs

pytestmark = needs("chromium")


@pytest.fixture
def sold(selling: Platform, world: World) -> Sold:
    return Sold(selling, world)


@pytest.fixture
def platform(selling: Platform, sold: Sold) -> Platform:
    """One that wraps invoices."""
    return replace(selling, channels=sold.channels)


@asynccontextmanager
async def receiving(
    platform: Platform, site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> AsyncIterator[NodePages]:
    front = make_front(platform, site, far=None, challenges=None)
    opened = node_pages(site, alice, fleet_harness, size=NARROW, front=front)
    async with opened as pages:
        yield pages


async def allow_zero_conf(fleet_harness: FleetHarness) -> None:
    database = fleet_harness.fleet.database
    (node,) = await database.reader.nodes.all_()
    settings = replace(node.settings, optionscidalias=True, zeroconf=True)
    async with database.transaction() as tx:
        await tx.nodes.save(node, replace(node, settings=settings))


async def test_the_fee_is_shown_before_the_command_is(
    platform: Platform, site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with receiving(platform, site, alice, fleet_harness) as pages:
        page = pages.page
        await allow_zero_conf(fleet_harness)
        await pages.open("/wallet/receive")
        await page.fill("#amount", "400000")
        assert not await page.is_visible("#just-in-time"), "its channels can receive it"
        await page.fill("#amount", "500000")
        await page.fill("#memo", "rent & light")
        await pages.press("Show the fee")
        await pages.see("Your node receives")
        fee = int((await page.inner_text("#opening-fee")).split()[0].replace(",", ""))
        assert fee > 0
        assert await page.inner_text("#opening-received") == f"{500_000 - fee:,} sat"
        node = pages.node.rpartition("/")[2]
        assert await page.inner_text("#opening-command") == (
            f"leyden wallet receive {node} 500000 --just-in-time --memo 'rent & light'"
        )
        assert pages.lnd.asked("POST /v1/invoices") == [], "the command creates it"
        assert await pages.screen.faults() == []
        await page.fill("#amount", "600000")
        assert not await page.is_visible("#opening-offer"), "it was of another amount"
        await page.select_option("#way", "on-chain")
        assert not await page.is_visible("#just-in-time")


async def test_without_inbound_capacity_it_is_offered_at_once(
    platform: Platform, site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with receiving(platform, site, alice, fleet_harness) as pages:
        pages.lnd.answers["GET /v1/channels"] = {"channels": []}
        await pages.open("/wallet/receive")
        await pages.press("Show the fee")
        assert "Amount: must be a whole number" in await pages.alert()
        await pages.page.fill("#amount", "500000")
        await pages.press("Show the fee")
        await pages.see("This node takes no channels without confirmations yet.")
        assert await pages.page.locator("#opening-command").count() == 0


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("400001", ""),
        ("1", "The platform offers no channel: the payment is below the minimum"),
        ("1000001", "the payment is beyond the maximum of 1,000,000 sat"),
    ],
)
async def test_an_amount_that_no_channel_is_opened_for_is_said(
    platform: Platform,
    site: Site,
    alice: Visitor,
    fleet_harness: FleetHarness,
    amount: str,
    words: str,
) -> None:
    async with receiving(platform, site, alice, fleet_harness) as pages:
        pages.lnd.answers["GET /v1/channels"] = {"channels": [channel(9, 0)]}
        await pages.open("/wallet/receive")
        await pages.page.fill("#amount", amount)
        await pages.press("Show the fee")
        if words:
            assert words in await pages.alert()
        else:
            await pages.see("Your node receives")
        assert await pages.page.is_visible("#opening-offer") == (not words)


async def test_a_platform_that_sells_none_or_is_away_says_so(
    platform: Platform,
    sold: Sold,
    site: Site,
    alice: Visitor,
    fleet_harness: FleetHarness,
) -> None:
    async with receiving(platform, site, alice, fleet_harness) as pages:
        await pages.open("/wallet/receive")
        await pages.page.fill("#amount", "500000")
        sold.purse.away = True
        await pages.press("Show the fee")
        assert "The platform offers no channel:" in await pages.alert()
        await pages.page.context.route("**/api/v1/fee", lambda route: route.abort())
        await pages.press("Show the fee")
        assert "Could not reach the platform." in await pages.alert()
