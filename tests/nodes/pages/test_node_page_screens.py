"""A node's pages with its money on them: readable by everyone, on any screen."""

import base64
from typing import Literal

import pytest
from playwright.async_api import ViewportSize

from leyden.app.serving.site import Site
from tests.base.pages.screen import NARROW, WIDE
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.node_pages import PIER, NodePages, channel, node_pages
from tests.nodes.pages.test_send import INVOICE, UNKNOWN, read
from tests.nodes.pages.wallet.test_history import LISTS
from tests.programs import needs

pytestmark = needs("chromium")

ADDRESS = f"bcrt1p{'q' * 58}"


def fill(pages: NodePages) -> None:
    """Let lnd have something of everything."""
    answers = pages.lnd.answers
    mole = channel(
        *(100_000, 50_000),
        active=True,
        channel_point=f"{'2f' * 32}:1",
        chan_id="77",
        remote_pubkey=f"02{'12' * 32}",
        peer_alias="m" * 32,
    )
    answers["GET /v1/channels"] = {
        "channels": [channel(600_000, 400_000, active=True), mole]
    }
    waiting = channel(5, 5, remote_node_pub=PIER, peer_alias="")
    answers["GET /v1/channels/pending"] = {
        "pending_open_channels": [
            {"channel": waiting, "confirmations_until_active": 2}
        ],
    }
    for name, call in (("invoices", "invoices"), ("payments", "payments")):
        answers[f"GET /v1/{call}"] = {
            name: [{**each, "r_hash": "Wlo="} for each in LISTS[name]]
        }
    answers["GET /v1/transactions"] = {
        "transactions": [
            {**each, "output_details": [{"output_index": "0", "is_our_address": True}]}
            for each in LISTS["transactions"]
        ]
    }
    answers["POST /v1/switch"] = {"forwarding_events": LISTS["forwards"]}
    answers["POST /v1/invoices"] = {
        "r_hash": base64.b64encode(bytes(32)).decode(),
        "payment_request": f"lnbcrt{'q' * 300}",
    }
    answers["GET /v1/newaddress"] = {"address": ADDRESS}
    answers["GET /v1/invoice/"] = {"state": "OPEN", "amt_paid_msat": "0"}
    answers["GET /v1/payreq/"] = read()
    answers["GET /v1/graph/node/"] = {"node": {"alias": "pier"}}
    answers["GET /v2/router/track/"] = UNKNOWN
    answers["GET /v1/macaroon/ids"] = {"root_key_ids": ["0", "7"]}


async def receive(pages: NodePages) -> None:
    await pages.page.select_option("#way", "either")
    await pages.page.fill("#amount", "21000")
    await pages.press("Create")
    await pages.see("Waiting for the payment.")


async def send(pages: NodePages) -> None:
    await pages.page.fill("#to", INVOICE)
    await pages.press("Continue")
    await pages.see("two lamps")
    await pages.page.click("summary:has-text('Advanced')")


async def period(pages: NodePages) -> None:
    await pages.page.select_option("#period", "0")
    await pages.see("6 payments")


async def bump(pages: NodePages) -> None:
    await period(pages)
    await pages.page.click("[data-bump]")
    await pages.page.wait_for_selector("#bump-rate:visible")


async def close(pages: NodePages) -> None:
    await pages.page.click("[data-close]")
    await pages.press("Close channel")
    await pages.page.wait_for_selector("#confirm-action[open]")


async def move(pages: NodePages) -> None:
    await pages.page.locator("[data-move]:visible").first.click()
    await pages.page.wait_for_selector("#move-to:visible")


async def scan(pages: NodePages) -> None:
    await pages.press("Scan a QR code")
    await pages.see("There is no camera here.")


STEPS = (
    ("", None),
    ("/wallet/receive", None),
    ("/wallet/receive", receive),
    ("/wallet/send", None),
    ("/wallet/send", send),
    ("/wallet/send", scan),
    ("/wallet/payments", period),
    ("/wallet/payments", bump),
    ("/wallet/channels", None),
    ("/wallet/channels", move),
    ("/wallet/channels", close),
)


@pytest.mark.parametrize(
    ("scheme", "size"),
    [
        ("dark", NARROW),
        pytest.param("light", WIDE, marks=pytest.mark.long),
    ],
)
async def test_pages_with_money_on_them_are_clean(
    site: Site,
    alice: Visitor,
    fleet_harness: FleetHarness,
    scheme: Literal["light", "dark"],
    size: ViewportSize,
) -> None:
    faults: list[str] = []
    async with node_pages(
        site, alice, fleet_harness, size=size, scheme=scheme
    ) as pages:
        fill(pages)
        for name, step in STEPS:
            await pages.open(name)
            if step is not None:
                await step(pages)
            faults += [f"{name}: {each}" for each in await pages.screen.faults()]
    assert faults == []
