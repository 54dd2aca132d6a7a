"""From an empty browser to a payment that arrived, on a private chain with everything
real: a node, its wallet, a channel, and money through it."""

from pathlib import Path

import pytest
from playwright.async_api import TimeoutError as NeverSeen

from tests.nodes.pages.wallet import sealing
from tests.programs import needs
from tests.stories.platform import RunningPlatform
from tests.stories.test_browser import alice, backup, initialise, make
from tests.stories.window import Window

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
    needs("chromium", "certutil"),
]
PASSWORD = "a lamp in the harbour"
MAX_CLICKS = 25
KEPT_MS = 15_000  # in which a page finds that the vault is open
BLOCKS = 3  # until a channel of this size can be used


async def follow(window: Window, link: str) -> None:
    await window.page.get_by_role("link", name=link, exact=True).first.click()


async def open_vault(window: Window) -> None:
    """Open it, unless it is open: browsers keep it between pages, or don't."""
    try:
        await window.page.wait_for_selector("#lock:visible", timeout=KEPT_MS)
    except NeverSeen:
        await window.type(password=PASSWORD)
        await window.press("Open vault")
        await window.page.wait_for_selector("#lock:visible")


async def order_a_channel(window: Window) -> None:
    """From the page of a node without one, until it is published."""
    await follow(window, "Order channel")
    await window.type(capacity="1000000")
    await window.page.wait_for_selector("#quote dd")
    await window.press("Place order")
    await window.press("Simulate payment")
    await window.see("Your channel is published.")
    for _ in range(BLOCKS):
        async with window.page.expect_navigation():
            await window.press("Mine a block")


async def test_a_newcomer_receives_a_payment_within_25_clicks(
    trading_platform: RunningPlatform, tmp_path: Path
) -> None:
    platform = trading_platform
    await platform.spend_credit()
    async with alice(platform, tmp_path / "alice") as window:
        node = await make(window, platform, "first light")
        await initialise(window)
        await window.see("Your node is running")
        await follow(window, "Go to node")
        await open_vault(window)
        await window.see("No channels yet")
        await order_a_channel(window)
        node.macaroon = sealing.open_jwe(
            await backup(platform, node, "admin"), PASSWORD
        )

        async def has_hints() -> bool:
            wish = {"value": "7", "private": True}
            made = await node.call("POST", "/v1/invoices", wish)
            found = await node.call("GET", f"/v1/payreq/{made['payment_request']}")
            return bool(found["route_hints"])

        await platform.until("payers find the node", has_hints)
        await follow(window, "first light")
        await open_vault(window)
        await follow(window, "Receive")
        await open_vault(window)
        await window.type(amount="5000", memo="two lamps")
        await window.press("Create")
        await window.see("Waiting for the payment.")
        await window.press("Receive a test payment")
        await window.see("Paid: 5,000 sat")
        assert 0 < window.clicks <= MAX_CLICKS
    await platform.of(node, "DELETE", "")
