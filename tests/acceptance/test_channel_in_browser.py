"""A channel bought by a person: real Chromium, payment, auction, ticket and channel."""

import time

import pytest

from tests.acceptance.town import Town
from tests.web.screen import CHROMIUM, MISSING, Screen, chromium

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.xdist_group("market town"),
    pytest.mark.skipif(CHROMIUM is None, reason=MISSING),
]

PATIENCE_MS = 120_000
TEN_MINUTES = 600


async def test_a_person_orders_pays_and_watches_the_channel_come(
    market_town: Town,
) -> None:
    town = market_town
    await town.opens()
    began = time.monotonic()
    login = town.facts["dashboard_login"]
    base = town.facts["dashboard_url"].removesuffix("/app/")
    async with chromium() as browser:
        screen = await Screen.opened(await browser.new_context(), base)
        page = screen.page
        page.set_default_timeout(PATIENCE_MS)
        await page.goto(f"{base}/app/")
        await page.fill("#email", login["email"])
        await page.fill("#password", login["password"])
        await page.click("form[action='/app/sign-in'] button")
        await page.click("nav.rooms a:has-text('Channels')")
        await page.click("a.button:has-text('Order')")
        await page.fill("#capacity", "4,000,000")
        await page.wait_for_selector("#quote dd:has-text('5,000 sat')")  # our own fee
        await page.click("button:has-text('Order it')")
        invoice = await page.inner_text("#invoice")
        await town.run("dev", "pay", invoice.strip())
        ticket = await page.inner_text("#ticket")
        await town.run("dev", "register", ticket.strip())

        async def filled() -> bool:
            await town.run("dev", "mine", "1")
            return await page.locator(".state-filled").count() > 0

        await town.until("the page shows the channel", filled, seconds=120)
        assert await page.locator("ol.timeline li").all_inner_texts() != []
        assert time.monotonic() - began < TEN_MINUTES
        await page.goto(f"{base}/app/operator/money")
        shown = await page.inner_text("main")
        for seen in ("On the chain", "In its channels", "Ends in"):
            assert seen in shown, shown  # a real treasury, and a real account
        assert await screen.grave_faults() == []
    assert screen.complaints == []
    assert "the books are right" in await town.run("verify")
