"""A channel bought by a person: real Chromium, payment, auction, ticket and channel."""

import time
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import Page

from leyden_workshop.devnet import access, wallet
from tests.base.pages.screen import Screen, chromium
from tests.programs import needs
from tests.stories.platform import RunningPlatform

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
    needs("chromium"),
]

PATIENCE_MS = 120_000
TEN_MINUTES = 600
MAX_CLICKS = 6  # from the sign-in to a channel that is there


@dataclass
class Hand:
    """A person's hand, whose clicks are counted."""

    page: Page
    clicks: int = 0

    async def click(self, selector: str) -> None:
        self.clicks += 1
        await self.page.click(selector)

    async def copied(self, button: str) -> str:
        """Press a button that copies something; give what it copied."""
        await self.click(f"button:has-text('{button}')")
        await self.page.wait_for_selector("button:has-text('Copied')")
        text: str = await self.page.evaluate("navigator.clipboard.readText()")
        return text


async def shown_and_open(
    platform: RunningPlatform, page: Page
) -> tuple[str, dict[str, Any]]:
    """Return the order's page, and the channel there as the customer's node has it.

    Published, it takes some blocks until it is open.
    """
    customer = access.load(platform.home).lnds["customer"]
    found: list[tuple[str, dict[str, Any]]] = []

    async def is_reached() -> bool:
        await platform.run("dev", "mine", "1")
        order = await page.inner_text("main")
        async with wallet.opened(customer) as node:
            every = await node.channels()
        found[:] = [(order, each) for each in every if each["channel_point"] in order]
        return bool(found)

    await platform.until("the node has the channel", is_reached, seconds=60)
    (only,) = found
    return only


async def test_a_person_orders_pays_and_watches_the_channel_come(
    trading_platform: RunningPlatform,
) -> None:
    platform = trading_platform
    await platform.opens()
    await platform.spend_credit()
    customer = access.load(platform.home).lnds["customer"]
    async with wallet.opened(customer) as node:
        chosen = await node.key()
    began = time.monotonic()
    login = platform.facts["dashboard_login"]
    base = platform.facts["dashboard_url"].removesuffix("/app/")
    async with chromium() as browser:
        context = await browser.new_context()  # a fresh profile
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        screen = await Screen.opened(context, base)
        page, hand = screen.page, Hand(screen.page)
        page.set_default_timeout(PATIENCE_MS)
        await page.goto(f"{base}/app/")
        await page.fill("#email", login["email"])
        await page.fill("#password", login["password"])
        await hand.click("form[action='/app/sign-in'] button")
        await hand.click("nav.rooms a:has-text('Channels')")
        await hand.click("a.button:has-text('Order')")
        await page.select_option("#for", "")  # a ticket, the last choice
        await page.fill("#capacity", "4000000")
        await page.wait_for_selector("#quote dd:has-text('5,000 sat')")  # our own fee
        assert "become credit" in await page.inner_text("#quote")
        await hand.click("button:has-text('Place order')")
        await platform.run("dev", "pay", await hand.copied("Copy invoice"))
        # The node that is to have the channel registers the ticket.
        await page.wait_for_selector("#ticket")
        await platform.run("dev", "register", await hand.copied("Copy ticket"))

        async def filled() -> bool:
            await platform.run("dev", "mine", "1")
            return await page.locator(".state-filled").count() > 0

        await platform.until("the page shows the channel", filled, seconds=120)
        assert hand.clicks <= MAX_CLICKS
        assert await page.locator("ol.timeline li").all_inner_texts() != []
        assert time.monotonic() - began < TEN_MINUTES
        order, channel = await shown_and_open(platform, page)
        for shown in (chosen, channel["remote_pubkey"], "block "):
            assert shown in order, order
        assert "not needed" in order
        assert await screen.grave_faults() == []
        left = await platform.credit()
        await page.click("a.button:has-text('Transactions')")
        await page.wait_for_selector("main:has-text('Unused fee')")
        shown = await page.inner_text("main")
        assert f"{left:,} sat" in shown
        await see_the_treasury(screen)
    assert screen.complaints == []
    assert "the books are right" in await platform.run("verify")


async def see_the_treasury(screen: Screen) -> None:
    """Look at a real treasury, and a real account."""
    await screen.go("/app/operator/money")
    shown = await screen.page.inner_text("main")
    for found in ("On-chain balance", "Local balance in channels", "Expires in"):
        assert found in shown, shown
    assert await screen.grave_faults() == []
