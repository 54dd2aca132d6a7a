"""A dashboard that real browsers open: Debian's Chromium, on a server of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import (
    Browser,
    BrowserContext,
    Page,
    ViewportSize,
    async_playwright,
)

from leyden.app.front import Front
from leyden.app.serving.site import Site
from leyden.base.http.server import bind, serving
from tests.base.pages.conftest import PASSWORD
from tests.programs import require

_AXE = Path(__file__).parent / "vendor" / "axe.min.js"
_GRAVE = ("serious", "critical")
_HEAVIEST = 150 * 1024  # of a page with all that it loads, as it is sent
WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 360, "height": 780}  # the narrowest that is common


@asynccontextmanager
async def served(
    site: Site, port: int = 0, *, front: Front | None = None
) -> AsyncIterator[str]:
    """Return the address at which the dashboard answers while inside.

    With `front`, the API of its installation answers there, too.
    """
    sockets = bind("127.0.0.1", port)
    async with serving(front or site, sockets, grace_s=1):
        yield f"http://localhost:{sockets[0].getsockname()[1]}"
        site.streams.close()


@asynccontextmanager
async def chromium(*arguments: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=require("chromium"), args=["--no-sandbox", *arguments]
        )
        try:
            yield browser
        finally:
            await browser.close()


# By htmx, of a request that was under way as its page was left.
_ENDED = ("htmx:afterRequest", "htmx:sendAbort")


class Screen:
    """A page, and everything that it complained of."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.complaints: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dialog)
        page.on("request", self._request)

    @classmethod
    async def opened(cls, context: BrowserContext, base: str) -> "Screen":
        return cls(await context.new_page(), base)

    async def sign_in(self, email: str) -> None:
        await self.page.goto(f"{self.base}/app/")
        await self.page.fill("#email", email)
        await self.page.fill("#password", PASSWORD)
        await self.page.click("form[action='/app/sign-in'] button")
        await self.page.wait_for_url("**/nodes")

    async def go(self, path: str) -> None:
        answer = await self.page.goto(f"{self.base}{path}")
        assert answer is not None
        assert answer.status == 200, (path, answer.status)

    async def faults(self) -> list[str]:
        """Return what keeps somebody out, or makes them scroll sideways, or wait."""
        found = await self.grave_faults()
        if await self.is_wider_than_its_window():
            found.append("it is wider than its window")
        if (weight := await self.weight()) > _HEAVIEST:
            found.append(f"it weighs {weight:,} bytes")
        return found

    async def grave_faults(self) -> list[str]:
        """Return what axe finds that would keep somebody out."""
        await self.page.evaluate(_AXE.read_text())
        only = "{resultTypes: ['violations']}"  # what is in order takes it long to list
        found: dict[str, Any] = await self.page.evaluate(f"axe.run({only})")
        return [
            f"{each['id']}: {each['nodes'][0]['html']}"
            for each in found["violations"]
            if each["impact"] in _GRAVE
        ]

    async def is_wider_than_its_window(self) -> bool:
        wide: bool = await self.page.evaluate(
            "document.documentElement.scrollWidth > window.innerWidth"
        )
        return wide

    async def weight(self) -> int:
        """Return the bytes of the page and of all that it loads, cached or not."""
        bytes_: int = await self.page.evaluate(
            "['navigation', 'resource'].flatMap((kind) => performance"
            ".getEntriesByType(kind)).reduce((sum, each) => sum"
            " + each.encodedBodySize, 0)"
        )
        return bytes_

    def _hear(self, message: Any) -> None:
        ended = message.text.startswith(_ENDED)
        if message.type in {"error", "warning"} and not ended:
            self.complaints.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.base, "data:")):
            self.complaints.append(f"asked a stranger: {request.url}")

    async def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"a script of somebody's ran: {dialog.message}")
        await dialog.dismiss()
