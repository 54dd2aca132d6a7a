"""A node's pages in a browser, with lnd's REST played by the test."""

import inspect
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

from playwright.async_api import Page, Route, ViewportSize

from leyden.app.front import Front
from leyden.app.serving.site import Site
from leyden.nodes.rules.observations import LndState
from tests.bakery import baked, identifier
from tests.base.pages.screen import WIDE, Screen, chromium, served
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made
from tests.nodes.pages.wallet.sealing import seal_jwe

PASSWORD = "a lamp in the harbour"
KEY, PIER = f"02{'ab' * 32}", f"03{'cd' * 32}"
ADMIN = identifier("0", ("macaroon", "generate"), ("offchain", "write"))
AWAY = object()  # an answer that is lost on its way


class Refusal(str):
    """What lnd says instead of doing it."""

    __slots__ = ()
    code = 2  # gRPC's


def channel(local: int, remote: int, **more: object) -> dict[str, object]:
    return {
        "capacity": str(local + remote),
        "local_balance": str(local),
        "remote_balance": str(remote),
        "local_chan_reserve_sat": "0",
        "remote_chan_reserve_sat": "0",
        "remote_pubkey": PIER,
        "peer_alias": "pier",
        "channel_point": f"{'1f' * 32}:0",
        "chan_id": "42",
        "csv_delay": 144,
        "commit_fee": "810",
        "initiator": True,
        "lifetime": "864000",
        "uptime": "777600",
        **more,
    }


INFO = {
    "identity_pubkey": KEY,
    "alias": "harbour light",
    "uris": [f"{KEY}@peers.example:9735"],
    "num_peers": 1,
    "block_height": 812345,
    "synced_to_chain": True,
    "synced_to_graph": True,
}
PEER = {"pub_key": PIER, "address": "192.0.2.9:9735", "inbound": False}


class LndRest:
    """lnd's REST as pages of the dashboard call it: its answers, and what was asked.

    An answer is what lnd tells, a list of what it tells one after the other, a refusal,
    or a function of the body that returns one of them, at once or later.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {
            "GET /v1/getinfo": INFO,
            "GET /v1/balance/blockchain": {
                "confirmed_balance": "50000",
                "unconfirmed_balance": "0",
            },
            "GET /v1/channels": {"channels": [channel(600_000, 400_000, active=True)]},
            "GET /v1/channels/pending": {},
            "GET /v1/peers": {"peers": [PEER]},
            "GET /v1/fees": {
                "channel_fees": [
                    {
                        "channel_point": f"{'1f' * 32}:0",
                        "base_fee_msat": "1000",
                        "fee_per_mil": "10",
                    }
                ]
            },
            "GET /v1/invoices": {"invoices": []},
            "GET /v1/payments": {"payments": []},
            "GET /v1/transactions": {"transactions": []},
            "POST /v1/switch": {"forwarding_events": []},
            "POST /v1/macaroon": self._bake,
        }
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.granted: list[set[str]] = []  # to each macaroon that was baked

    def _bake(self, body: dict[str, Any]) -> dict[str, str]:
        wanted = [(each["entity"], each["action"]) for each in body["permissions"]]
        self.granted.append({":".join(each) for each in wanted})
        return {"macaroon": baked(identifier("0", *wanted)).hex()}

    def asked(self, call: str) -> list[dict[str, Any]]:
        """Return the bodies with which this was called."""
        return [body for each, body in self.calls if each.startswith(call)]

    async def answer(self, route: Route) -> None:
        request = route.request
        path = request.url.partition(":8080")[2]
        body = json.loads(request.post_data or "{}")
        call = f"{request.method} {path}"
        self.calls.append((call, body))
        known = [each for each in self.answers if call.startswith(each)]
        found = self.answers[max(known, key=len)] if known else Refusal("not found")
        if callable(found):
            found = found(body)
        if inspect.isawaitable(found):
            found = await found
        if found is AWAY:
            await route.abort()
            return
        lines, status = found if isinstance(found, list) else [found], 200
        if isinstance(found, Refusal):
            said = {"code": found.code, "message": str(found)}
            lines, status = [{**said, "error": said}], 400
        elif isinstance(found, list):
            lines = [{"result": each} for each in found]
        await route.fulfill(
            status=status,
            body="\n".join(json.dumps(each) for each in lines),
            headers={
                "access-control-allow-origin": "*",
                "content-type": "application/json",
            },
        )


class NodePages:
    """The pages of a node that runs, in the browser of its owner."""

    def __init__(self, screen: Screen, node: str, lnd: LndRest) -> None:
        self.screen, self.node, self.lnd = screen, node, lnd
        self.page: Page = screen.page
        self.is_open = False

    async def open(self, name: str) -> None:
        """Go to a page of the wallet; on the first, open the vault for all of them."""
        await self.screen.go(f"{self.node}{name}")
        if not self.is_open:
            await self.page.fill("#password", PASSWORD)
            await self.press("Open vault")
        await self.page.wait_for_selector("#lock:visible")
        self.is_open = True

    async def press(self, name: str) -> None:
        button = self.page.get_by_role("button", name=name, exact=True)
        await button.locator("visible=true").click()

    async def confirm(self, button: str) -> list[str]:
        """Answer the question before something is spent; return what it said."""
        await self.page.wait_for_selector("#confirm-action[open]")
        lines = await self.page.locator("#confirm-lines li").all_inner_texts()
        if await self.page.is_visible("#confirm-password"):
            await self.page.fill("#confirm-password", PASSWORD)
        assert await self.page.inner_text("#confirm-button") == button
        await self.page.click("#confirm-button")
        await self.page.wait_for_selector("#confirm-action", state="hidden")
        return lines

    async def see(self, words: str) -> None:
        by_text = self.page.get_by_text(words).locator("visible=true").first
        await by_text.wait_for(timeout=20_000)

    async def alert(self) -> str:
        """Return what went wrong, as the page says it."""
        await self.page.wait_for_selector("#wrong:visible")
        return await self.page.inner_text("#wrong")


@asynccontextmanager
async def node_pages(
    site: Site,
    alice: Visitor,
    fleet_harness: FleetHarness,
    *,
    size: ViewportSize = WIDE,
    scheme: Literal["light", "dark"] = "light",
    arguments: Sequence[str] = (),
    front: Front | None = None,
) -> AsyncIterator[NodePages]:
    """Show the pages of a running node whose vault has an admin macaroon."""
    node = await made(alice, fleet_harness)
    (stored,) = await fleet_harness.fleet.database.reader.nodes.all_()
    fleet_harness.runtime.say(stored.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    about = {"node": stored.id, "kind": "macaroon", "name": "admin"}
    value = seal_jwe(baked(ADMIN).hex(), PASSWORD, about)
    await alice.get(f"{node}/wallet/vault")
    fields = {"kind": "macaroon", "name": "admin", "value": value}
    assert (await alice.submit(f"{node}/wallet/backups", fields)).status == 200
    lnd = LndRest()
    async with served(site, front=front) as url, chromium(*arguments) as browser:
        context = await browser.new_context(color_scheme=scheme, viewport=size)
        screen = await Screen.opened(context, url)
        await context.route("https://*.nodes.localhost:8080/**", lnd.answer)
        await screen.sign_in("alice@example.org")
        yield NodePages(screen, node, lnd)
