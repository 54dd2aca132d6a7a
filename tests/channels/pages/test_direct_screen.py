"""The order form asks first for which node, and shows what belongs to the answer."""

from playwright.async_api import ViewportSize

from leyden.nodes.rules.observations import LndState
from tests.app.pages.test_screens import base, platform  # noqa: F401  fixtures
from tests.base.pages.screen import Screen, chromium
from tests.base.pages.visitor import Visitor
from tests.channels.api.flow.conftest import World
from tests.channels.pages.test_channels import ordered
from tests.channels.pages.test_direct_channels import KEY, pay
from tests.nodes.fleet_harness import FleetHarness


async def test_a_channel_for_a_node_is_ordered_by_keys_on_a_phone(
    base: str,  # noqa: F811
    alice: Visitor,
    world: World,
) -> None:
    world.seller.fill([3_000_000, 3_000_000])
    async with chromium() as browser:
        size: ViewportSize = {"width": 360, "height": 740}
        screen = await Screen.opened(await browser.new_context(viewport=size), base)
        page = screen.page
        await screen.sign_in("alice@example.org")
        await screen.go(f"{alice.root}/channels/new")
        # Without a node of one's own, another's key is asked for.
        assert await page.is_visible("#node")
        await page.click("summary:has-text('More options')")
        assert await page.is_visible("#announce")
        assert not await page.is_visible("#tier")
        await page.select_option("#for", "")
        await page.wait_for_selector("#tier", state="visible")
        assert await page.is_visible("#premium")
        assert not await page.is_visible("#node")
        await page.focus("#for")
        await page.keyboard.type("Another")
        await page.wait_for_selector("#node", state="visible")
        assert not await page.is_visible("#tier")
        await page.keyboard.press("Tab")
        await page.keyboard.type(KEY)
        await page.wait_for_selector("#quote dd:has-text('18,999 sat')")
        assert not await screen.is_wider_than_its_window()
        await page.keyboard.press("Enter")
        await page.wait_for_selector("h1:has-text('Inbound channel for')")
        pay(world)
        await page.wait_for_selector("text=Your node is not connected.")
        assert not await screen.is_wider_than_its_window()
        world.seller.online.add(KEY)
        world.later(seconds=3)
        await page.wait_for_selector("text=Your channel is published.")
        assert not await screen.is_wider_than_its_window()
    assert screen.complaints == []


async def test_a_ticket_is_claimed_for_a_node_here_by_one_command(
    base: str,  # noqa: F811
    alice: Visitor,
    world: World,
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running(organization_id=alice.organization_id)
    fleet_harness.runtime.say(node.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    page_of = await ordered(alice)
    pay(world)
    async with chromium() as browser:
        size: ViewportSize = {"width": 360, "height": 740}
        screen = await Screen.opened(await browser.new_context(viewport=size), base)
        await screen.sign_in("alice@example.org")
        await screen.go(page_of)
        order_id = page_of.rpartition("/")[2]
        command = f"leyden channels use-ticket {order_id} --for {node.id}"
        await screen.page.wait_for_selector(f"pre:has-text('{command}')")
        assert not await screen.is_wider_than_its_window()
    assert screen.complaints == []
