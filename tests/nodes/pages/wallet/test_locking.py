"""What is locked while a page opens the vault stays locked."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Route

from tests.bakery import READER, baked
from tests.nodes.pages.wallet.conftest import Modular

pytestmark = pytest.mark.asyncio(loop_scope="session")

NODE = "http://harbour.example"
# As much of the overview as its script needs.
PAGE = f"""
<main id="wallet" data-node="harbour" data-url="{NODE}" data-token="session">
<p id="wrong" hidden></p><p id="progress" hidden></p><p id="insecure" hidden></p>
<p id="unreachable" hidden><button id="try-again"></button></p>
<p id="trusted-now" hidden></p>
<section data-step="closed"><form id="enter">
<input id="password"><input id="pasted"><button>Open vault</button>
</form></section>
<section data-step="open" hidden><h2>Balances</h2>
<p data-figure="alias" data-private></p><button id="lock">Lock</button>
<button id="copy-peer"></button>
<details id="peer-shown"><svg id="peer-code"></svg></details>
<p id="none"></p>
</section>
</main>
"""
TOLD = {
    "/v1/getinfo": {"alias": "harbour light", "identity_pubkey": "02ab"},
    "/v1/balance/blockchain": {"confirmed_balance": "1", "unconfirmed_balance": "0"},
    "/v1/channels": {"channels": []},
    "/v1/channels/pending": {},
}
LOCKS = {
    "lock": """async () => {
        const { Opened } = await import("/wallet/opened.js");
        new Opened("harbour", "session").lock();
    }""",
    "sign out": """() => new BroadcastChannel("signed out").postMessage("")""",
}
FIND = """async (modules) => {
    const { Opened } = await modules("opened");
    return (await new Opened("harbour", "session").find()) ?? null;
}"""


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context()
    yield context
    await context.close()


@pytest.mark.parametrize("how", ["", *LOCKS])
async def test_what_is_locked_while_the_node_answers_stays_locked(
    context: BrowserContext, modules_url: str, how: str
) -> None:
    request, answers = asyncio.Event(), asyncio.Event()

    async def answer(route: Route) -> None:
        request.set()
        await answers.wait()
        path = route.request.url.removeprefix(NODE).partition("?")[0]
        await route.fulfill(
            body=json.dumps(TOLD[path]),
            headers={
                "access-control-allow-origin": "*",
                "content-type": "application/json",
            },
        )

    page, other = await context.new_page(), await context.new_page()
    await page.route(f"{NODE}/**", answer)
    await other.goto(modules_url)
    await page.goto(modules_url)
    await page.set_content(PAGE)
    await page.evaluate("sessionStorage.setItem('vault', 'open')")
    await page.evaluate("import('/wallet/pages/overview.js').then(() => {})")
    await page.fill("#pasted", baked(READER).hex())
    await page.click("text=Open vault")
    await asyncio.wait_for(request.wait(), 30)
    if how:
        await other.evaluate(LOCKS[how])
        async with asyncio.timeout(30):
            while await page.evaluate("sessionStorage.getItem('vault')"):
                await asyncio.sleep(0.01)
    answers.set()
    await page.wait_for_selector("#wallet:not([aria-busy])")

    shown = await page.text_content("[data-figure=alias]")
    modular = await Modular(other).run(FIND)
    if how:
        assert (shown, modular) == ("", None)
        assert "locked in the meantime" in await page.inner_text("#wrong")
        assert not await page.locator("#lock").is_visible()
    else:
        assert shown == "harbour light"
        assert modular is not None
