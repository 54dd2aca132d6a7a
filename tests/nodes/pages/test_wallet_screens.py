"""Pages of a wallet in a real browser, every step of them: readable on any screen."""

from typing import Literal

import pytest
from playwright.async_api import Browser, ViewportSize

from leyden.app.serving.site import Site
from leyden.nodes.pages.wallet import PAGES
from leyden.nodes.rules.observations import LndState
from tests.base.pages.keyboard import faults_by_keyboard
from tests.base.pages.rooms import WALLET, addresses
from tests.base.pages.screen import NARROW, WIDE, Screen, chromium, served
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.node_pages import AWAY, PASSWORD, node_pages
from tests.nodes.pages.test_nodes import made
from tests.nodes.pages.wallet.sealing import seal_jwe
from tests.nodes.pages.wallet.test_sealing import MACAROON, WORDS
from tests.programs import needs

pytestmark = needs("chromium")
UNCOVER = "for (const e of document.querySelectorAll('#wallet [hidden]')) e.hidden = 0"


# Each step is seen one way or the other; in the long run both ways.
@pytest.mark.parametrize(
    ("scheme", "size", "half"),
    [
        ("light", WIDE, 0),
        ("dark", NARROW, 1),
        pytest.param("light", WIDE, 1, marks=pytest.mark.long),
        pytest.param("dark", NARROW, 0, marks=pytest.mark.long),
    ],
)
async def test_every_step_is_clean_and_open_to_everyone(
    site: Site,
    alice: Visitor,
    fleet_harness: FleetHarness,
    scheme: Literal["light", "dark"],
    size: ViewportSize,
    half: int,
) -> None:
    node = await made(alice, fleet_harness)
    (stored,) = await fleet_harness.fleet.database.reader.nodes.all_()
    ids = {
        "organization_id": alice.organization_id,
        "node_id": node.rpartition("/")[2],
    }
    faults: list[str] = []
    async with served(site) as url, chromium() as browser:
        context = await browser.new_context(color_scheme=scheme, viewport=size)
        screen = await Screen.opened(context, url)
        await screen.sign_in("alice@example.org")
        for path in (*addresses(WALLET, ids), node)[half::2]:
            if path == node:  # where the vault is opened once it runs
                fleet_harness.runtime.say(stored.id, LndState.SERVER_ACTIVE)
                await fleet_harness.settled()
            await screen.go(path)
            await screen.page.wait_for_selector("#wallet:not([aria-busy])")
            await screen.page.evaluate(UNCOVER)
            found = await screen.faults()
            if scheme == "light":
                found += await faults_by_keyboard(screen.page)
            faults += [f"{path}: {each}" for each in found]
    assert faults == []
    # They call the node, and there is no lnd behind it here; nothing else is noted.
    expected = ("Failed to load resource", "asked a stranger: https://harbour-light-")
    assert [each for each in screen.complaints if not each.startswith(expected)] == []


async def test_the_bakery_takes_no_password_that_opens_nothing(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await made(alice, fleet_harness)
    async with served(site) as url, chromium() as browser:
        screen = await Screen.opened(await browser.new_context(), url)
        page = screen.page
        await screen.sign_in("alice@example.org")

        async def said(password: str) -> str:
            await screen.go(f"{node}/wallet/bakery")
            await page.click("summary:has-text('not in the vault')")
            await page.fill("#password", password)
            await page.fill("#pasted", MACAROON.hex())
            await page.fill("#again", "another password")
            await page.click("button:has-text('Open vault')")
            await page.wait_for_selector("#wrong:not([hidden])")
            return await page.inner_text("#wrong")

        assert "don't match" in await said("harbour light")
        about = {"node": node.rpartition("/")[2], "kind": "seed"}
        stored = {"kind": "seed", "value": seal_jwe(WORDS, "harbour light", about)}
        await alice.get(f"{node}/wallet/bakery")
        assert (await alice.submit(f"{node}/wallet/backups", stored)).status == 200
        assert "nothing in the vault can be decrypted" in await said("harbor light")
        assert "could not reach the node" in await said("harbour light")
        await see_what_a_browser_without_webcrypto_is_told(browser, url, node)


async def test_a_vault_without_an_admin_macaroon_says_how_to_store_one(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await made(alice, fleet_harness)
    (stored,) = await fleet_harness.fleet.database.reader.nodes.all_()
    async with served(site) as url, chromium() as browser:
        screen = await Screen.opened(await browser.new_context(), url)
        page = screen.page
        await screen.sign_in("alice@example.org")
        await screen.go(f"{node}/wallet/vault")
        assert await page.locator("#no-admin").count() == 0, "it has no wallet yet"
        fleet_harness.runtime.say(stored.id, LndState.SERVER_ACTIVE)
        await fleet_harness.settled()
        await screen.go(f"{node}/wallet/vault")
        await page.wait_for_selector("#no-admin:not([hidden])")
        about = {"node": stored.id, "kind": "macaroon", "name": "admin"}
        sealed = seal_jwe(MACAROON.hex(), "harbour light", about)
        await alice.get(f"{node}/wallet/vault")
        macaroon = {"kind": "macaroon", "name": "admin", "value": sealed}
        assert (await alice.submit(f"{node}/wallet/backups", macaroon)).status == 200
        await screen.go(f"{node}/wallet/vault")
        await page.wait_for_selector("#kept li:has-text('admin')")
        assert await page.is_hidden("#no-admin")


async def see_what_a_browser_without_webcrypto_is_told(
    browser: Browser, url: str, node: str
) -> None:
    context = await browser.new_context()
    await context.add_init_script(
        "Object.defineProperty(crypto, 'subtle', { value: undefined })"
    )
    screen = await Screen.opened(context, url)
    await screen.sign_in("alice@example.org")
    for name in PAGES:
        await screen.go(f"{node}/wallet/{name}")
        await screen.page.wait_for_selector("#insecure:not([hidden])")
        assert "leyden wallet --help" in await screen.page.inner_text("#insecure")


async def test_a_password_whose_change_was_not_answered_may_have_changed(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        pages.lnd.answers["GET /v1/state"] = {"state": "LOCKED"}
        pages.lnd.answers["POST /v1/changepassword"] = AWAY
        await pages.screen.go(f"{pages.node}/wallet/password")
        await pages.page.fill("#current", PASSWORD)
        for name in ("next", "again"):
            await pages.page.fill(f"#{name}", "another lamp in the harbour")
        await pages.press("Change password")
        alert = await pages.alert()
        assert "may have its new password all the same" in alert
        assert "The backups still have the old one" in alert


async def test_a_password_manager_is_told_whose_password_it_is(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await made(alice, fleet_harness)
    for name in PAGES:
        text = (await alice.get(f"{node}/wallet/{name}")).text
        assert 'autocomplete="current-password"' not in text
        assert 'autocomplete="new-password"' not in text
        assert 'value="wallet of harbour light"' in text
