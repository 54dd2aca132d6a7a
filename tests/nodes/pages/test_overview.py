"""What the overview shows of a node while its owner's vault is open."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page, Route

from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.nodes.rules.observations import LndState
from leyden.nodes.rules.samples import DAY, SAMPLE_INTERVAL, Sample
from tests.bakery import READER, baked
from tests.base.pages.screen import Screen, chromium, served
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made
from tests.nodes.pages.wallet.sealing import seal_jwe
from tests.programs import needs

pytestmark = needs("chromium")

PASSWORD = "a lamp in the harbour"
KEY = f"02{'ab' * 32}"


def channel(local: int, remote: int, **more: object) -> dict[str, object]:
    return {
        "capacity": str(local + remote),
        "local_balance": str(local),
        "remote_balance": str(remote),
        **more,
    }


# As lnd tells it: numbers are strings, and lists of two kinds name their peers apart.
TOLD = {
    "/v1/getinfo": {
        "identity_pubkey": KEY,
        "alias": "<b>harbour</b> light",
        "uris": [f"{KEY}@peers.example:9735"],
        "num_peers": 2,
        "block_height": 812345,
        "synced_to_chain": True,
        "synced_to_graph": False,
    },
    "/v1/balance/blockchain": {
        "confirmed_balance": "21000",
        "unconfirmed_balance": "700",
    },
    "/v1/channels": {
        "channels": [
            channel(1000, 2000, active=True, remote_pubkey=KEY, peer_alias="pier"),
            channel(
                *(10, 0),
                active=False,
                remote_pubkey=KEY,
                peer_alias="unable to lookup peer alias: alias for node not found",
            ),
        ]
    },
    "/v1/channels/pending": {
        "pending_open_channels": [{"channel": channel(5, 5, remote_node_pub=KEY)}],
        "waiting_close_channels": [{"channel": channel(0, 3, remote_node_pub=KEY)}],
    },
}


async def answer(route: Route) -> None:
    """Stand for lnd's REST, as pages of the dashboard may call it."""
    path = route.request.url.partition(":8080")[2].partition("?")[0]
    await route.fulfill(
        body=json.dumps(TOLD[path]),
        headers={
            "access-control-allow-origin": "*",
            "content-type": "application/json",
        },
    )


async def sample(platform: Platform, fleet_harness: FleetHarness) -> None:
    """Take a sample of every node, as is done twice a minute."""
    await platform.samples.take(fleet_harness.fleet)
    fleet_harness.now += SAMPLE_INTERVAL


@asynccontextmanager
async def opened(
    site: Site, alice: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> AsyncIterator[Screen]:
    """Open the vault on the page of a node that runs, with a clock that can be set."""
    node = await made(alice, fleet_harness)
    (stored,) = await fleet_harness.fleet.database.reader.nodes.all_()
    fleet_harness.runtime.say(stored.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    for _ in range(3):
        await sample(platform, fleet_harness)
    about = {"node": stored.id, "kind": "macaroon", "name": "read-only"}
    value = seal_jwe(baked(READER).hex(), PASSWORD, about)
    await alice.get(f"{node}/wallet/vault")
    fields = {"kind": "macaroon", "name": "read-only", "value": value}
    assert (await alice.submit(f"{node}/wallet/backups", fields)).status == 200
    async with served(site) as url, chromium() as browser:
        screen = await Screen.opened(await browser.new_context(), url)
        page = screen.page
        await page.clock.install()
        await page.context.route("https://*.nodes.localhost:8080/**", answer)
        await screen.sign_in("alice@example.org")
        await screen.go(node)
        await open_vault(page)
        yield screen


async def open_vault(page: Page) -> None:
    await page.fill("#password", PASSWORD)
    await page.click("button:has-text('Open vault')")
    await page.wait_for_selector("#public-key:visible")


async def test_balances_are_shown_until_somebody_leaves(
    site: Site, alice: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    async with opened(site, alice, platform, fleet_harness) as screen:
        page = screen.page
        expected = {
            name: await page.inner_text(f"[data-figure={name}]")
            for name in (
                *("coins", "unconfirmed", "local", "local-others", "remote"),
                *("remote-others", "alias", "peer"),
            )
        }
        assert expected == {
            "coins": "21,000 sat",
            "unconfirmed": "700 sat unconfirmed",
            "local": "1,000 sat",
            "local-others": "5 sat pending, 10 sat inactive",
            "remote": "2,000 sat",
            "remote-others": "5 sat pending, 3 sat closing",
            "alias": "<b>harbour</b> light",
            "peer": f"{KEY}@peers.example:9735",
        }
        await page.click("#peer-shown summary")
        assert await page.locator("#peer-code path").count() == 1
        assert await page.inner_text("[data-figure=chain]") == "Synced, block 812,345"
        assert await page.inner_text("[data-figure=graph]") == "Not synced"
        counts = await page.inner_text("[data-figure=channels]")
        assert counts == "1 active, 1 pending, 1 inactive, 1 closing"
        assert await page.input_value("#password") == ""

        assert await screen.grave_faults() == []
        await page.clock.fast_forward("14:00")
        await page.keyboard.press("Shift")
        await page.clock.fast_forward("14:00")
        assert await page.locator("#public-key").is_visible()
        await page.clock.fast_forward("01:30")
        await page.wait_for_selector("#password:visible")
        assert await page.text_content("#public-key") == ""
        assert await page.text_content("[data-figure=local]") == ""
        assert await page.locator("#peer-code path").count() == 0

        await open_vault(page)
        other = await page.context.new_page()
        await other.goto(page.url)
        await other.wait_for_selector("#public-key:visible")  # without being asked
        await other.click("details.menu summary")
        await other.click("text=Sign out")
        await page.wait_for_selector("#password:visible")
        assert await page.text_content("#public-key") == ""


async def test_charts_say_what_is_under_the_pointer(
    site: Site, alice: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    async with opened(site, alice, platform, fleet_harness) as screen:
        page = screen.page
        await page.get_by_role("link", name="Machine", exact=True).click()
        await page.wait_for_url("**/machine")
        said = page.locator("figure output").first
        latest = await said.inner_text()
        await page.locator("svg.chart").first.focus()
        await page.keyboard.press("ArrowLeft")  # the newest
        await page.keyboard.press("ArrowLeft")
        assert re.fullmatch(r"\d\d:\d\d:\d\d: [\d.]+ [KM]?i?B", await said.inner_text())
        await page.locator("svg.chart").nth(1).focus()
        assert await said.inner_text() == latest
        await page.keyboard.press("ArrowLeft")
        used = await page.locator("figure output").nth(1).inner_text()
        assert re.fullmatch(r"\d\d:\d\d:\d\d: 0\.0 % of a core", used)
        (node,) = await platform.database.reader.nodes.all_()
        async with platform.database.transaction() as tx:
            for number in range(3):
                at = DAY.begin(fleet_harness.now) - number * DAY.step
                kept = Sample(at, 90 << 20, 0.5, None, None, 0)
                await tx.node_samples.keep(node.id, DAY, kept)
        await page.get_by_role("link", name="Day", exact=True).click()
        await page.wait_for_url("**/machine?span=day")
        await page.locator("svg.chart").first.focus()
        await page.keyboard.press("ArrowLeft")
        assert re.search(r"20\d\d, \d\d:\d\d: ", await said.inner_text())
