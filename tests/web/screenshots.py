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

from tests.web.rooms import ROOMS, WALLET, addresses
from tests.web.screen import chromium

Scheme = Literal["light", "dark"]

SHAPES: dict[str, tuple[Scheme, ViewportSize]] = {
    "light": ("light", {"width": 1280, "height": 800}),
    "dark": ("dark", {"width": 1280, "height": 800}),
    "phone": ("light", {"width": 390, "height": 844}),
}
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-fFNO-]+")


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
    room = page.url.removesuffix("/nodes")
    ids = {
        "organization_id": room.rpartition("/")[2],
        "node_id": await _first(page, f"{room}/nodes"),
        "order_id": await _first(page, f"{room}/channels"),
        "id": await _first(page, f"{base}/app/operator/organizations"),
    }
    for path in addresses([*ROOMS, *WALLET], ids):
        answer = await page.goto(f"{base}{path}")
        if answer is not None and answer.ok:
            name = _ID.sub("one", path.removeprefix("/app/")).replace("/", "-")
            await _taken(page, folder / f"{name}-{shape}.png")
    await page.close()


async def _first(page: Page, room: str) -> str:
    """Return the id of the first thing that a list shows, if it shows any."""
    await page.goto(room)
    links = page.locator("tbody th a")
    if not await links.count():
        return "none"
    href = await links.first.get_attribute("href")
    return (href or "").rpartition("/")[2]


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
