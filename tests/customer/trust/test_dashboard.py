"""A real Chromium opens the dashboard without a warning after `leyden trust`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Error, Page, async_playwright

from leyden.app.installation import running
from leyden.app.migration import migrate
from tests.customer.trust.machine import made
from tests.nodes.wiring.test_authority import settings
from tests.programs import needs, require

pytestmark = needs("chromium")


@asynccontextmanager
async def browser(person: Path) -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            person / "profile",
            executable_path=require("chromium"),
            env={"HOME": str(person)},
            args=["--no-sandbox"],
        )
        try:
            yield context.pages[0]
        finally:
            await context.close()


@pytest.mark.parametrize(
    "started_before", [True, pytest.param(False, marks=pytest.mark.long)]
)
async def test_chromium_opens_the_dashboard_without_a_warning(
    tmp_path: Path, *, started_before: bool
) -> None:
    """Started before, it has made its database itself, where its version does."""
    machine = made(tmp_path / "machine")
    given = settings(machine.platform, api_tls=True)
    machine.platform.mkdir()
    migrate(given)
    url = f"https://localhost:{given.api_port}/app/sign-in"
    async with running(given, loops=False):
        if started_before:
            async with browser(machine.person) as page:
                with pytest.raises(Error, match="ERR_CERT_AUTHORITY_INVALID"):
                    await page.goto(url)
        done = await asyncio.to_thread(machine.leyden, "trust", "--store", "browsers")
        assert done.returncode == 0, done.stderr
        async with browser(machine.person) as page:
            answer = await page.goto(url)
            assert answer is not None
            assert answer.ok
            security = await answer.security_details()
            assert security is not None
            assert str(security["issuer"]).startswith("Leyden nodes ")
        done = await asyncio.to_thread(machine.leyden, "untrust")
        assert done.returncode == 0, done.stderr
        async with browser(machine.person) as page:
            with pytest.raises(Error, match="ERR_CERT_AUTHORITY_INVALID"):
                await page.goto(url)
