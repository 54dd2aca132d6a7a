"""The README's pictures, of a running platform.

    python -m tests.base.pages.readme_pictures HOME docs/pictures

HOME is that of a `leyden up` with a running node, whose wallet's password is in
LEYDEN_WALLET_PASSWORD, and an unpaid order. Reduce the pictures to 256 colours
afterwards, as `pngquant` does: they are half the size.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from playwright.async_api import Page, ViewportSize

from tests.base.pages.screen import chromium

_WINDOW: ViewportSize = {"width": 1280, "height": 800}
_SCALE = 0.625
_PASSWORD = "LEYDEN_WALLET_PASSWORD"
_PICTURES = (("node", "nodes"), ("order", "channels"))  # the name, and whose first one


async def main(home: Path, folder: Path) -> None:
    """Take them all."""
    body = json.loads((home / "dev.json").read_text())
    base = body["dashboard_url"].removesuffix("/app/")
    async with chromium() as browser:
        for name, what in _PICTURES:
            page = await browser.new_page(
                color_scheme="light",
                viewport=_WINDOW,
                device_scale_factor=_SCALE,
                ignore_https_errors=True,  # of the node's own authority
            )
            room = await _sign_in(page, base, body["dashboard_login"])
            await page.goto(f"{room}/{what}/{await _first(page, f'{room}/{what}')}")
            await page.wait_for_load_state("load")
            if name == "node":
                await page.fill("input[type=password]", os.environ[_PASSWORD])
                await page.click("button:has-text('Open vault')")
                await page.wait_for_timeout(5_000)  # each tile comes by itself
            await page.screenshot(path=folder / f"{name}.png")
            await page.close()


async def _sign_in(page: Page, base: str, login: dict[str, str]) -> str:
    """Sign in; return the address of the organization's pages."""
    await page.goto(f"{base}/app/sign-in")
    await page.fill("#email", login["email"])
    await page.fill("#password", login["password"])
    await page.click("form[action='/app/sign-in'] button")
    await page.wait_for_url("**/nodes")
    return page.url.removesuffix("/nodes")


async def _first(page: Page, room: str) -> str:
    """Return the id of the first thing that a list shows, if it shows any."""
    await page.goto(room)
    links = page.locator("tbody th a")
    if not await links.count():
        return "none"
    href = await links.first.get_attribute("href")
    return (href or "").rpartition("/")[2]


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
