"""Payments: one list of what the node tells, and as a file."""

from pathlib import Path

from leyden.app.serving.site import Site
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.node_pages import node_pages
from tests.nodes.pages.wallet.test_history import LISTS
from tests.programs import needs

pytestmark = needs("chromium")

RECENT = 4_102_444_800  # in the future: whatever the day, in the last thirty


async def test_payments_are_one_list_that_can_be_searched_and_saved(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    paid, _ = LISTS["invoices"]
    invoices = [
        {
            **paid,
            "settle_date": str(RECENT + at),
            "memo": f"lamp {at}",
            "r_hash": "Wlo=",
        }
        for at in range(60)
    ]
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        lnd.answers["GET /v1/invoices"] = {"invoices": invoices}
        lnd.answers["GET /v1/payments"] = {"payments": LISTS["payments"]}
        await pages.open("/wallet/payments")
        await pages.see("1 to 50 of 61 payments")
        first = await page.locator("#rows tr").first.inner_text()
        assert "lamp 59" in first
        assert "+21,000 sat" in first
        await pages.press("Older")
        await pages.see("51 to 61 of 61 payments")
        assert (
            "\N{MINUS SIGN}1.5 sat" in await page.locator("#rows tr").last.inner_text()
        )
        await page.fill("#text", "lamp 7")
        await pages.see("1 to 1 of 1 payment")
        async with page.expect_download() as download:
            await pages.press("Export CSV")
        lines = Path(await (await download.value).path()).read_text().splitlines()
        assert len(lines) == 2
        assert "lamp 7" in lines[1]
        asked = len(lnd.calls)
        await page.select_option("#period", "0")
        await pages.see("1 to 1 of 1 payment")
        last = [call for call, _ in lnd.calls[asked:] if "creation_date" in call]
        assert all(call.endswith("creation_date_start=0") for call in last)
        await pages.press("Lock")
        assert await page.text_content("#rows") == ""
