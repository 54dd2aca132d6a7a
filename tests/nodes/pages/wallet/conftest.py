"""Debian's Chromium, and the dashboard's modules on a page under a strict policy."""

import threading
from collections.abc import AsyncIterator, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright

from tests.programs import require

STATIC = Path(
    str(files("leyden.base.pages") / "static")
)  # of the package that is imported
# Nodes are other origins, as on the dashboard.
_POLICY = "default-src 'none'; script-src 'self'; connect-src 'self' http:"


class Modules(SimpleHTTPRequestHandler):
    """Serves the static folder below /, and an empty page at /."""

    extensions_map = {".js": "text/javascript"}  # noqa: RUF012  as it is there

    def __init__(self, *given: Any) -> None:
        super().__init__(*given, directory=str(STATIC))

    def do_GET(self) -> None:
        if self.path == "/":
            page = b"<!doctype html><title>modules</title>"
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)
        else:
            super().do_GET()

    def end_headers(self) -> None:
        self.send_header("content-security-policy", _POLICY)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="session")
def modules_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Modules) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    chromium = require("chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"]
        )
        yield browser
        await browser.close()


class Modular:
    """A page, and the modules that it can call."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def call(self, module: str, function: str, *arguments: Any) -> Any:
        """Call a function of a module of wallet/; a Trouble comes back as its kind."""
        return await self.page.evaluate(
            """async ([module, name, given]) => {
                const found = await import(`/wallet/${module}.js`);
                try {
                    return await found[name](...given);
                } catch (error) {
                    if (error.name !== "Trouble") throw error;
                    return {trouble: error.kind, says: error.message};
                }
            }""",
            [module, function, arguments],
        )

    async def run(self, script: str, *arguments: Any) -> Any:
        """Run a function that is given `modules`, an importer, and the arguments."""
        return await self.page.evaluate(
            f"""async (given) => {{
                const modules = (name) => import(`/wallet/${{name}}.js`);
                return await ({script})(modules, ...given);
            }}""",
            arguments,
        )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def js(browser: Browser, modules_url: str) -> AsyncIterator[Modular]:
    page = await browser.new_page()
    await page.goto(modules_url)
    yield Modular(page)
    await page.close()
