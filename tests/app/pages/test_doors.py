"""What people see in passing, in a real browser: ways in, and what is shown once."""

import base64
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from playwright.async_api import Page

from leyden.app.serving.site import Site
from leyden.base.rules.sign_in import totp_code
from tests.base.pages.conftest import PASSWORD
from tests.base.pages.rooms import DOORS
from tests.base.pages.screen import NARROW, Screen, chromium, served
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made
from tests.programs import needs

pytestmark = needs("chromium")


@asynccontextmanager
async def screen(site: Site) -> AsyncIterator[Screen]:
    """Open a browser of its own, on a phone."""
    async with served(site) as url, chromium() as browser:
        context = await browser.new_context(viewport=NARROW)
        yield await Screen.opened(context, url)


async def look(screen: Screen, faults: list[str]) -> None:
    faults += [f"{screen.page.url}: {each}" for each in await screen.faults()]


async def leave_and_return(page: Page, *, by: str, shown: str) -> None:
    """Leave a page that shows something once by a link, and go back.

    Its address is that of the page that follows already, so what it shows tells when
    it has been left.
    """
    await page.click(f"text={by}")
    await page.wait_for_selector(shown, state="detached")
    await page.go_back()


async def created_key(screen: Screen, root: str) -> str:
    """Create an API key, and stay on the page that shows it once."""
    await screen.go(f"{root}/keys")
    await screen.page.fill("#name", "our backend")
    await screen.page.click("text=Create key")
    return await screen.page.inner_text("#key")


async def test_what_is_shown_once_is_clean_and_not_shown_to_who_goes_back(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    faults: list[str] = []
    async with screen(site) as shown:
        page = shown.page
        await shown.sign_in("alice@example.org")
        key = await created_key(shown, alice.root)
        await look(shown, faults)
        await leave_and_return(page, by="I've stored it", shown="#key")
        assert key not in await page.content()
        await page.reload()
        assert key not in await page.content()

        await shown.go(f"{alice.root}/team")
        await page.fill("#email", "dora@example.org")
        await page.click("text=Create invitation")
        link = await page.inner_text("#link")
        await look(shown, faults)
        await leave_and_return(page, by="Back to the team", shown="#link")
        assert link not in await page.content()

        await shown.go("/app/account")
        await page.fill("#mine", PASSWORD)
        await page.click("text=Add authenticator app")
        await page.click("text=Can't scan the QR code?")
        secret = await page.inner_text("#secret")
        await look(shown, faults)
        step = int(fleet_harness.now.timestamp()) // 30
        await page.fill("#code", totp_code(base64.b32decode(secret), step))
        await page.click("button:has-text('Add authenticator app')")
        codes = await page.inner_text("#codes")
        await look(shown, faults)
        await leave_and_return(page, by="I've stored them", shown="#codes")
        assert codes.split()[0] not in await page.content()

        await page.goto(f"{shown.base}/app/nowhere")
        await look(shown, faults)
    assert faults == []


async def test_what_is_shown_once_does_not_stay_in_the_browsers_memory(
    site: Site, alice: Visitor
) -> None:
    async with screen(site) as shown:
        page = shown.page
        await shown.sign_in("alice@example.org")
        key = await created_key(shown, alice.root)
        await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
        assert key not in await page.content()


async def test_the_ways_in_are_clean(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    faults: list[str] = []
    lines: set[str] = set()
    fields = {"email": "dora@example.org", "role": "viewer"}
    invited = await alice.submit(f"{alice.root}/team/invite", fields)
    link = re.search(r"/app/invitation\?word=[\w-]+", invited.text)
    assert link is not None
    offered = await alice.submit("/app/account/authenticator", {"present": PASSWORD})
    secret = re.search(r'id="secret">([A-Z2-7]+)<', offered.text)
    assert secret is not None
    code = totp_code(
        base64.b32decode(secret[1]), int(fleet_harness.now.timestamp()) // 30
    )
    await alice.submit("/app/account/authenticator/confirm", {"code": code})
    async with screen(site) as shown:
        page = shown.page
        await page.goto(f"{shown.base}{link[0]}")
        lines.add(urlsplit(page.url).path)
        await look(shown, faults)
        for path in ("forgot-password", "reset-password", "unsubscribe"):
            await page.goto(f"{shown.base}/app/{path}")
            lines.add(urlsplit(page.url).path)
            await look(shown, faults)
        await page.goto(f"{shown.base}/app/sign-in")
        await page.fill("#email", "alice@example.org")
        await page.fill("#password", "not hers")
        await page.click("form[action='/app/sign-in'] button")
        await page.wait_for_selector("[role=alert]:visible")
        lines.add(urlsplit(page.url).path)
        await look(shown, faults)
        await page.fill("#password", PASSWORD)
        await page.click("form[action='/app/sign-in'] button")
        await page.wait_for_selector("#code")
        lines.add(urlsplit(page.url).path)
        await look(shown, faults)
    assert faults == []
    assert lines == set(DOORS)


async def test_escape_closes_what_was_opened(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await made(alice, fleet_harness)
    async with screen(site) as shown:
        page = shown.page
        await shown.sign_in("alice@example.org")
        await page.focus("details.menu summary")
        await page.keyboard.press("Enter")
        assert await page.locator("details.menu[open]").count() == 1
        await page.keyboard.press("Tab")
        await page.keyboard.press("Escape")
        assert await page.locator("details.menu[open]").count() == 0
        assert await page.evaluate("document.activeElement.tagName") == "SUMMARY"

        await shown.go(f"{node}/wallet/bakery")
        await page.evaluate("document.getElementById('sure').showModal()")
        await page.keyboard.press("Escape")
        assert not await page.locator("#sure").is_visible()
