"""Receive: an invoice or an address of the node's own, and whether it was paid."""

import base64
from typing import Any

from playwright.async_api import Page

from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.base.price_source import ask
from tests.base.pages.visitor import Visitor
from tests.base.test_prices import serving
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.node_pages import LndRest, NodePages, Refusal, node_pages
from tests.programs import needs
from tests.waiting import until

pytestmark = needs("chromium")

HASH = bytes.fromhex("5a" * 32)
INVOICE = "lnsb210n1qqqq"
ADDRESS = "sb1ptaproot"


def invoice(state: str = "OPEN", **more: object) -> dict[str, object]:
    return {"state": state, "amt_paid_msat": "0", "settle_date": "0", **more}


def takes_invoices(lnd: LndRest) -> None:
    """Have lnd create the invoice, which nobody has paid yet."""
    lnd.answers["POST /v1/invoices"] = {
        "r_hash": base64.b64encode(HASH).decode(),
        "payment_request": INVOICE,
    }
    lnd.answers[f"GET /v1/invoice/{HASH.hex()}"] = invoice()


async def wish(pages: NodePages, **fields: str) -> None:
    for name, value in fields.items():
        if name == "way":
            await pages.page.select_option("#way", value)
        else:
            await pages.page.fill(f"#{name}", value)
    await pages.press("Create")


async def shown(page: Page, name: str) -> str:
    return await page.inner_text(f"#{name}")


async def test_amounts_have_a_worth_where_the_operator_has_a_price(
    site: Site, alice: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    async with serving() as source:
        await ask(platform.prices, source.url, "USD", platform.clock)
    async with node_pages(site, alice, fleet_harness) as pages:
        await pages.open("/wallet/receive")
        assert await shown(pages.page, "can-receive") == "400,000 sat"
        await pages.see("\N{ALMOST EQUAL TO} $280.00")
        await pages.page.fill("#amount", "21000")
        await pages.see("\N{ALMOST EQUAL TO} $14.70")
        await pages.page.fill("#amount", "")
        await pages.press("Lock")
        worth = await pages.page.locator(".worth").all_text_contents()
        assert set(worth) == {""}


async def test_an_invoice_is_made_and_seen_paid(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        takes_invoices(lnd)
        await pages.open("/wallet/receive")
        (looks,) = lnd.granted
        assert {each for each in looks if not each.endswith(":read")} == {
            "uri:/lnrpc.Lightning/AddInvoice",
            "uri:/lnrpc.Lightning/NewAddress",
        }, "what an open vault leaves can't spend"
        assert await shown(page, "can-receive") == "400,000 sat"
        await wish(pages, amount="21000", memo="two lamps")
        await pages.see("Waiting for the payment.")
        assert lnd.asked("POST /v1/invoices") == [
            {"value": "21000", "memo": "two lamps", "expiry": "86400", "private": True}
        ]
        assert await shown(page, "invoice") == INVOICE
        assert (
            await page.get_attribute("#open-wallet", "href") == f"lightning:{INVOICE}"
        )
        assert await page.locator("#request-code path").count() == 1
        paid = invoice("SETTLED", amt_paid_msat="21000000", settle_date="1772366400")
        lnd.answers[f"GET /v1/invoice/{HASH.hex()}"] = paid
        await pages.see("Paid: 21,000 sat")
        await pages.press("Create another")
        await wish(pages, amount="500000")
        await pages.see("more than the node's channels can receive")
        await page.reload()
        await page.wait_for_selector("#can-receive:visible")  # without being asked


async def test_one_code_has_the_address_and_the_invoice(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        takes_invoices(lnd)
        lnd.answers["GET /v1/newaddress?type=TAPROOT_PUBKEY"] = {"address": ADDRESS}
        await pages.open("/wallet/receive")
        await wish(pages, way="either", amount="150000000", memo="a & b")
        await pages.see("Waiting for the payment.")
        assert await shown(page, "uri") == (
            f"bitcoin:{ADDRESS}?amount=1.50000000&message=a%20%26%20b"
            f"&lightning={INVOICE}"
        )
        output = {"address": ADDRESS, "amount": "700"}
        seen: dict[str, Any] = {"output_details": [output], "num_confirmations": 1}
        lnd.answers["GET /v1/transactions"] = {"transactions": [seen]}
        await pages.see("Seen on-chain: 700 sat, 1 of 3 confirmations")
        seen["num_confirmations"] = 3
        await pages.see("Paid: 700 sat on-chain")


async def test_what_is_wrong_is_said(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        pages.lnd.answers["GET /v1/channels"] = {"channels": []}
        refusal = "payment of 1000000000000 msat is too large"
        pages.lnd.answers["POST /v1/invoices"] = Refusal(refusal)
        await pages.open("/wallet/receive")
        await pages.see("No channel of this node can receive yet")
        assert await pages.page.locator("#just-in-time").count() == 0, "none is sold"
        await wish(pages, amount="1.5")
        assert await pages.alert() == "Amount: must be a whole number of sats."
        await wish(pages, amount="1000000000")
        assert await pages.alert() == f"The node rejected this: {refusal}"


async def test_nothing_is_asked_while_nobody_can_see_the_tab(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        takes_invoices(lnd)
        await page.clock.install()
        await pages.open("/wallet/receive")
        await wish(pages, amount="21000")
        await pages.see("Waiting for the payment.")
        await page.evaluate(
            "Object.defineProperty(document, 'hidden', { value: true, writable: true })"
        )
        await page.wait_for_timeout(1_000)  # for what was asked just before
        before = len(lnd.calls)
        for _ in range(10):
            await page.clock.fast_forward("00:11")
            await page.wait_for_timeout(50)
        assert lnd.calls[before:] == []
        await page.evaluate("document.hidden = false")
        await page.clock.fast_forward("00:11")
        wanted = {f"GET /v1/invoice/{HASH.hex()}", "GET /v1/channels"}
        await until(
            lambda: wanted <= {each.partition("?")[0] for each, _ in lnd.calls[before:]}
        )
