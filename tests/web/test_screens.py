"""Every page in a real browser: clean, readable by everyone, on any screen."""

from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
from playwright.async_api import ViewportSize

from leyden.services import accounts
from leyden.services.courier import Courier
from leyden.services.platform import Platform
from leyden.settings import Settings
from leyden.web.app import dashboard
from leyden.web.site import Site
from leyden.webhooks.fake import FakeSender
from tests.api.flow.conftest import World
from tests.ports import free_port
from tests.services.yard import Yard
from tests.web.conftest import PASSWORD
from tests.web.keyboard import faults_by_keyboard
from tests.web.rooms import ROOMS, addresses
from tests.web.screen import CHROMIUM, MISSING, Screen, chromium, served
from tests.web.test_channels import ordered
from tests.web.test_nodes import made
from tests.web.visitor import Visitor

EVIL = "<img src=x onerror=alert(1)>"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)


@pytest.fixture
def platform(settings: Settings, world: World, yard: Yard) -> Platform:
    return Platform(
        settings=settings,
        database=world.shop.database,
        sealer=world.shop.sealer,
        clock=world.shop.clock,
        shop=world.shop,
        fleet=yard.fleet,
        courier=Courier(
            database=world.shop.database,
            sealer=world.shop.sealer,
            sender=FakeSender(),
            clock=world.shop.clock,
        ),
    )


@pytest.fixture
async def base(site: Site) -> AsyncIterator[str]:
    async with served(site) as url:
        yield url


@pytest.fixture
async def pages(
    alice: Visitor, yard: Yard, platform: Platform, world: World
) -> list[str]:
    """Every page there is, with what others wrote on it."""
    node = await made(alice, yard)
    (kept,) = await yard.fleet.database.reader.nodes.all_()
    yard.homes.logs[kept.id] = [f"[INF] {EVIL}"]
    order = await ordered(alice)
    await world.coupon(21_000, alice.organization_id)
    await accounts.create_key(
        platform,
        alice.organization_id,
        name=EVIL,
        scopes=["node"],
        expires=None,
        actor=f"operator:{EVIL}",
    )
    await accounts.set_operator(
        platform, "alice@example.org", operator=True, actor=EVIL
    )
    team = await accounts.create_organization(platform, EVIL, actor="test")
    await alice.get(f"{node}/webhook")
    url = {"webhook": "https://hooks.example/"}
    assert (await alice.submit(f"{node}/webhook", url)).status == 303
    assert (await alice.submit(f"{node}/webhook/test")).status == 303
    ids = {
        "organization_id": alice.organization_id,
        "node_id": node.rpartition("/")[2],
        "order_id": order.rpartition("/")[2],
        "id": team.id,
    }
    return addresses(ROOMS, ids)


Scheme = Literal["light", "dark"]


@pytest.mark.parametrize("half", [0, 1])  # so that none takes minutes
@pytest.mark.parametrize(
    ("scheme", "size"),
    [
        ("light", {"width": 1280, "height": 800}),
        ("dark", {"width": 390, "height": 844}),
    ],
)
async def test_every_page_is_clean_and_open_to_everyone(
    base: str, pages: list[str], scheme: Scheme, size: ViewportSize, half: int
) -> None:
    faults: list[str] = []
    async with chromium() as browser:
        context = await browser.new_context(color_scheme=scheme, viewport=size)
        screen = await Screen.opened(context, base)
        await screen.sign_in("alice@example.org")
        for path in pages[half::2]:
            await screen.go(path)
            found = await screen.grave_faults()
            if scheme == "light":
                found += await faults_by_keyboard(screen.page)
            faults += [f"{path}: {each}" for each in found]
            if await screen.is_wider_than_its_window():
                faults.append(f"{path}: is wider than its window")
    assert faults == []
    assert screen.complaints == []


async def test_a_passkey_signs_in_and_a_removed_one_does_not(
    platform: Platform, alice: Visitor
) -> None:
    port = free_port()
    own = f"http://localhost:{port}"
    site = dashboard(platform, version="0.1.0", origins=[own])
    device: dict[str, Any] = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    async with served(site, port) as base, chromium() as browser:
        context = await browser.new_context()
        screen = await Screen.opened(context, base)
        page = screen.page
        session = await context.new_cdp_session(page)
        await session.send("WebAuthn.enable")
        await session.send("WebAuthn.addVirtualAuthenticator", {"options": device})
        await screen.sign_in("alice@example.org")
        await screen.go("/app/account")
        await page.fill("#passkey-name", "my phone")
        await page.fill("#passkey-password", PASSWORD)
        await page.click("text=Add a passkey")
        await page.wait_for_url("**/account?done=passkey")
        assert await page.locator("th", has_text="my phone").count() == 1

        async def out() -> None:
            await context.clear_cookies()
            await page.goto(f"{base}/app/sign-in")

        await out()
        await page.click("text=Sign in with a passkey")
        await page.wait_for_url("**/nodes")
        assert page.url == f"{base}{alice.root}/nodes"

        await screen.go("/app/account")
        await page.click("button[aria-label='Remove my phone']")
        await page.wait_for_url("**/account?done=forgotten")
        await out()
        await page.click("text=Sign in with a passkey")
        await page.wait_for_selector("text=That passkey is not known here")


async def test_without_scripts_a_node_is_made_and_let_in(
    base: str, alice: Visitor, yard: Yard
) -> None:
    async with chromium() as browser:
        context = await browser.new_context(java_script_enabled=False)
        screen = await Screen.opened(context, base)
        page = screen.page
        await screen.sign_in("alice@example.org")
        await page.click("text=Make the first one")
        await page.fill("#name", "morning light")
        await page.click("button:has-text('Make it')")
        await page.wait_for_selector("h1:has-text('morning light')")
        await yard.work()
        await page.click("nav.tabs a:has-text('Whitelist')")
        await page.fill("#whitelist", "203.0.113.0/24")
        await page.click("button:has-text('Save')")
        await page.wait_for_selector("text=Saved.")
    (node,) = await yard.fleet.database.reader.nodes.all_()
    assert node.organization_id == alice.organization_id
    assert node.settings.whitelist == ("203.0.113.0/24",)
