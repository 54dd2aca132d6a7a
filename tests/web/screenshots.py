"""Pictures of every page of a running platform: light, dark, and on a phone.

    python -m tests.web.screenshots HOME FOLDER [SHAPE...]

HOME is that of a `leyden up`; what its first node and order look like is pictured too.
"""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, Page, ViewportSize

from leyden.web.wallet import PAGES
from tests.web.screen import chromium

Scheme = Literal["light", "dark"]

SHAPES: dict[str, tuple[Scheme, ViewportSize]] = {
    "light": ("light", {"width": 1280, "height": 800}),
    "dark": ("dark", {"width": 1280, "height": 800}),
    "phone": ("light", {"width": 390, "height": 844}),
}
ROOMS = (
    "nodes",
    "nodes/new",
    "channels",
    "channels/new",
    "credit",
    "keys",
    "team",
    "/app/account",
    "/app/operator",
    "/app/operator/organizations",
    "/app/operator/nodes",
    "/app/operator/money",
    "/app/operator/orders",
    "/app/operator/coupons",
    "/app/operator/audit",
)
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-fFNO-]+/?")
_NODE = (
    "",
    "/settings",
    "/whitelist",
    "/webhook",
    "/backups",
    "/log",
    *(f"/wallet/{each}" for each in PAGES),
)


async def picture(browser: Browser, home: Path, shape: str, folder: Path) -> None:
    """Take a picture of each page in one shape."""
    kept = json.loads((home / "dev.json").read_text())
    base = kept["dashboard_url"].removesuffix("/app/")
    scheme, size = SHAPES[shape]
    page = await browser.new_page(color_scheme=scheme, viewport=size)
    await page.goto(f"{base}/app/sign-in")
    await _taken(page, folder / f"sign-in-{shape}.png")
    await page.fill("#email", kept["dashboard_login"]["email"])
    await page.fill("#password", kept["dashboard_login"]["password"])
    await page.click("form[action='/app/sign-in'] button")
    await page.wait_for_url("**/nodes")
    root = page.url.removesuffix("/nodes")
    paths = [
        each if each[0] == "/" else f"{root[len(base) :]}/{each}" for each in ROOMS
    ]
    paths += await _first(page, f"{root}/nodes", _NODE)
    paths += await _first(page, f"{root}/channels", ("",))
    for path in paths:
        answer = await page.goto(f"{base}{path}")
        if answer is not None and answer.ok:
            name = re.sub(
                r"[0-9a-f]{8}-[0-9a-fFNO-]+/?", "", path.removeprefix("/app/")
            )
            await _taken(page, folder / f"{name.replace('/', '-')}-{shape}.png")
    await page.close()


async def _first(page: Page, room: str, rest: tuple[str, ...]) -> list[str]:
    """Give the pages of the first thing that a list shows, if it shows any."""
    await page.goto(room)
    links = page.locator("tbody th a")
    if not await links.count():
        return []
    href = await links.first.get_attribute("href")
    return [f"{href}{each}" for each in rest]


async def _taken(page: Page, file: Path) -> None:
    await page.wait_for_load_state("load")
    await page.screenshot(path=file, full_page=True)


async def main(home: Path, folder: Path, *shapes: str) -> None:
    """Take them all."""
    folder.mkdir(parents=True, exist_ok=True)
    async with chromium() as browser:
        for shape in shapes or SHAPES:
            await picture(browser, home, shape, folder)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
