"""The API reference and the guides in a real browser: read, searched and tried."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Page, ViewportSize, expect

from leyden.app.endpoints import OPERATIONS
from leyden.app.front import Front
from leyden.app.serving.api import Api
from leyden.app.serving.public import Public
from leyden.app.serving.site import Site
from leyden.base.http.proxies import Proxies
from leyden.base.http.server import bind, serving
from leyden.base.platform import Platform
from leyden.manual.site import Manual
from leyden.people import api_keys
from tests.base.pages.keyboard import faults_by_keyboard
from tests.base.pages.screen import Screen, chromium
from tests.base.pages.visitor import Visitor
from tests.programs import needs

pytestmark = needs("chromium")
NARROW = ViewportSize(width=360, height=740)
WIDE = ViewportSize(width=1280, height=800)


@pytest.fixture
async def base(platform: Platform, site: Site) -> AsyncIterator[str]:
    sockets = bind("127.0.0.1", 0)
    url = f"http://localhost:{sockets[0].getsockname()[1]}"
    api = Api(platform, OPERATIONS)
    front = Front(
        pages=site,
        manual=Manual(api.table, platform.settings, version="0.1.0", origins=[url]),
        api=Public(platform, api, version="0.1.0", servers=[url]),
        proxies=Proxies(),
    )
    async with serving(front, sockets, grace_s=1):
        yield url


@pytest.fixture
async def key(platform: Platform, alice: Visitor) -> str:
    _, text = await api_keys.create(
        platform,
        alice.organization_id,
        name="test",
        scopes=["node", "flow"],
        expires=None,
        actor="test",
    )
    return text


GUIDES = sorted(
    f"/docs/{each.stem}"
    for each in (Path(__file__).parents[3] / "docs/customers").glob("*.md")
    if each.stem not in {"README", "api"}
)


@pytest.mark.parametrize(
    ("scheme", "size"),
    [("dark", NARROW), pytest.param("light", WIDE, marks=pytest.mark.long)],
)
@pytest.mark.timeout(300)
async def test_everyone_can_read_them(
    base: str, scheme: Literal["light", "dark"], size: ViewportSize
) -> None:
    faults: list[str] = []
    async with chromium() as browser:
        context = await browser.new_context(color_scheme=scheme, viewport=size)
        screen = await Screen.opened(context, base)
        for path in ("/docs", *GUIDES, "/docs/api"):
            await screen.go(path)
            if path == "/docs/api":
                await _search(screen.page, "create an order")  # all are made alike
            found = await screen.grave_faults()
            if path == "/docs/errors":
                found += await faults_by_keyboard(screen.page)
            faults += [f"{path}: {each}" for each in found]
            if await screen.is_wider_than_its_window():
                faults.append(f"{path}: is wider than its window")
    assert faults == []
    assert screen.complaints == []


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_everyone_can_read_all_of_the_reference(base: str) -> None:
    async with chromium() as browser:
        screen = await Screen.opened(await browser.new_context(viewport=WIDE), base)
        await screen.go("/docs/api")
        assert await screen.grave_faults() == []
        assert await faults_by_keyboard(screen.page) == []


async def _search(page: Page, words: str) -> None:
    """Search by keyboard alone, wherever one is on the page."""
    await page.keyboard.press("/")
    await page.keyboard.type(words)


async def _try(page: Page, name: str) -> None:
    await page.click(f"#{name} .try > summary")
    await page.click(f"#{name} .try form button")


async def test_operations_are_searched_and_tried_with_a_key(
    base: str, key: str
) -> None:
    async with chromium() as browser:
        context = await browser.new_context(viewport=WIDE)
        screen = await Screen.opened(context, base)
        page = screen.page
        await screen.go("/docs/api")
        await expect(page.locator("#environment")).to_contain_text(base)

        await _search(page, "whitelist replace")
        await expect(page.locator("#found")).to_have_text(
            f"1 of {len(OPERATIONS)} operations"
        )
        await expect(page.locator("#nodes_replace_whitelist")).to_be_visible()
        await expect(page.locator("#nodes_list")).to_be_hidden()
        await page.keyboard.press("Escape")
        await expect(page.locator("#nodes_list")).to_be_visible()

        await page.click("#nodes_list [data-choose=Python]")
        await page.keyboard.press("ArrowRight")
        await expect(page.locator("#JavaScript-flow_quote")).to_be_visible()
        await expect(page.locator("#curl-flow_quote")).to_be_hidden()

        await _try(page, "keys_show")
        await expect(page.locator("#keys_show .status")).to_contain_text(
            "Enter your API key"
        )
        await page.fill("#key", key)
        await page.keyboard.press("Enter")
        await expect(page.locator("#key-status")).to_contain_text("Harbour Light")

        await _try(page, "nodes_list")
        await expect(page.locator("#nodes_list .status")).to_contain_text("200 in ")
        await expect(page.locator("#nodes_list .result")).to_contain_text('"nodes": []')

        await _try(page, "nodes_create")
        await expect(page.locator("#confirm")).to_contain_text("changes Harbour Light")
        await page.keyboard.press("Escape")
        await expect(page.locator("#nodes_create .status")).to_have_text("")
        await page.click("#nodes_create .try form button")
        await page.click("#confirm button[value=send]")
        await expect(page.locator("#nodes_create .status")).to_contain_text("200 in ")

        await page.click("#forget")
        assert await page.input_value("#key") == ""
    assert screen.complaints == []


async def test_without_scripts_everything_stands_there(base: str) -> None:
    async with chromium() as browser:
        context = await browser.new_context(java_script_enabled=False, viewport=WIDE)
        page = await context.new_page()
        await page.goto(f"{base}/docs/api")
        for language in ("curl", "Python", "JavaScript"):
            await expect(page.locator(f"#{language}-flow_quote")).to_be_visible()
        await expect(page.locator("#search")).to_be_hidden()
        await expect(page.locator("#key-form")).to_be_hidden()
