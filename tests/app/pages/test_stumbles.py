"""What goes wrong while one clicks, in a real browser: said in words, nothing lost."""

import asyncio
from datetime import timedelta

import pytest
from playwright.async_api import Browser, Page

from leyden.app.serving.site import Site
from leyden.nodes import commands
from leyden.nodes.rules.nodes import Action
from tests.base.pages.conftest import PASSWORD
from tests.base.pages.screen import Screen, chromium, served
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made
from tests.programs import needs

pytestmark = needs("chromium")

# More than a browser opens connections to one place.
MANY = 7
CAN_BE_HIDDEN = """
  let isHidden = false;
  Object.defineProperty(document, "hidden", { get: () => isHidden });
  addEventListener("hide", () => {
    isHidden = true; document.dispatchEvent(new Event("visibilitychange"));
  });
  addEventListener("show", () => {
    isHidden = false; document.dispatchEvent(new Event("visibilitychange"));
  });
"""


async def opened(browser: Browser, url: str) -> Screen:
    """Sign Alice in, in a browser whose windows can be put away."""
    context = await browser.new_context()
    await context.add_init_script(CAN_BE_HIDDEN)
    screen = await Screen.opened(context, url)
    await screen.sign_in("alice@example.org")
    return screen


async def names(fleet_harness: FleetHarness) -> list[str]:
    return [
        each.name for each in await fleet_harness.fleet.database.reader.nodes.all_()
    ]


async def sign_in_again(page: Page) -> None:
    await page.fill("#email", "alice@example.org")
    await page.fill("#password", PASSWORD)
    await page.click("form[action='/app/sign-in'] button")


async def test_a_session_that_ended_is_told_of_and_the_form_found_again(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with served(site) as url, chromium() as browser:
        screen = await opened(browser, url)
        page = screen.page
        await screen.go(f"{alice.root}/nodes/new")
        await page.fill("#name", "morning light")
        fleet_harness.now += timedelta(hours=25)
        await page.click("button:has-text('Create node')")
        await page.wait_for_selector("text=Your session has ended")
        assert await names(fleet_harness) == []
        await sign_in_again(page)
        await page.wait_for_url("**/nodes/new")
        await page.fill("#name", "morning light")
        await page.click("button:has-text('Create node')")
        await page.wait_for_selector("h1:has-text('morning light')")
    assert await names(fleet_harness) == ["morning light"]


@pytest.mark.long
async def test_who_signs_out_in_one_window_is_told_in_the_other(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await made(alice, fleet_harness)
    async with served(site) as url, chromium() as browser:
        screen = await opened(browser, url)
        other = await Screen.opened(screen.page.context, url)
        await other.go(f"{node}/whitelist")
        await screen.page.click("details.menu summary")
        await screen.page.click("text=Sign out")
        await screen.page.wait_for_url("**/sign-in")
        await other.page.fill("#whitelist", "192.0.2.44")
        await other.page.click("button:has-text('Save')")
        await other.page.wait_for_selector("h1:has-text('Sign in')")
        await sign_in_again(other.page)
        await other.page.wait_for_url("**/whitelist")
    (stored,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert "192.0.2.44" not in stored.settings.whitelist


async def test_a_double_click_makes_one_node(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with served(site) as url, chromium() as browser:
        screen = await opened(browser, url)
        page = screen.page
        await screen.go(f"{alice.root}/nodes/new")
        await page.fill("#name", "morning light")
        await page.dblclick("button:has-text('Create node')")
        await page.wait_for_selector("h1:has-text('morning light')")
    assert await names(fleet_harness) == ["morning light"]


@pytest.mark.long
async def test_any_number_of_windows_is_open_and_each_is_right_when_looked_at(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await made(alice, fleet_harness)
    async with served(site) as url, chromium() as browser:
        first = await opened(browser, url)
        await first.go(node)
        await first.page.wait_for_selector("#status:has-text('Waiting for wallet')")
        for _ in range(MANY):
            await first.page.evaluate("dispatchEvent(new Event('hide'))")
            screen = await Screen.opened(first.page.context, url)
            async with asyncio.timeout(20):
                await screen.go(f"{alice.root}/nodes")
            await screen.page.evaluate("dispatchEvent(new Event('hide'))")
        node_id = node.rpartition("/")[2]
        await commands.command(
            fleet_harness.fleet,
            alice.organization_id,
            node_id,
            Action.STOP,
            actor="test",
            now=fleet_harness.now,
        )
        await fleet_harness.work()
        assert await first.page.inner_text("#status") == "Waiting for wallet"
        await first.page.evaluate("dispatchEvent(new Event('show'))")
        await first.page.wait_for_selector("#status:has-text('Stopped')")
