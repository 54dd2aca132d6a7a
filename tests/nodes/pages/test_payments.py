"""Payments: one list of what the node tells, and as a file."""

from pathlib import Path

from leyden.app.serving.site import Site
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.node_pages import AWAY, Refusal, node_pages
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
        assert last
        assert all(call.endswith("creation_date_start=0") for call in last)
        await pages.press("Lock")
        assert await page.text_content("#rows") == ""


async def test_the_fee_of_an_unconfirmed_transaction_is_raised(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    sent = {
        "tx_hash": "7e" * 32,
        "time_stamp": str(RECENT),
        "amount": "-30282",
        "total_fees": "282",
        "num_confirmations": 0,
        "label": "",
        "output_details": [
            {"output_index": "0", "is_our_address": False},
            {"output_index": "1", "is_our_address": True},
        ],
    }
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        buried = {**sent, "tx_hash": "8e" * 32, "num_confirmations": 1}
        lnd.answers["GET /v1/transactions"] = {"transactions": [sent, buried]}
        await pages.open("/wallet/payments")
        await pages.see("1 to 2 of 2 payments")
        for answer, says in (
            (Refusal("fee rate too low"), "fee rate too low The fee did not change."),
            (AWAY, "it is safe to raise it again"),
            ({"status": "ok"}, "The fee was raised by 2,220 sat"),
        ):
            lnd.answers["POST /v2/wallet/bumpfee"] = answer
            if await page.is_hidden("#bump-rate"):
                await page.click("[data-bump]")  # the only one
            await page.fill("#bump-rate", "20")
            await page.click("#bump button:not([type])")
            said = await pages.confirm("Raise fee")
            assert said[1] == "It pays 20 sat/vB: 2,220 sat."
            await pages.see(says)
        assert lnd.granted[1:] == [{"uri:/walletrpc.WalletKit/BumpFee"}]
        assert lnd.asked("POST /v2/wallet/bumpfee")[-1] == {
            "outpoint": {"txid_str": "7e" * 32, "output_index": 1},
            "budget": "2220",  # without one, lnd goes on to half of the output
            "deadline_delta": 1,
            "immediate": True,
        }


async def test_the_newest_are_shown_while_older_ones_are_read(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    paid, _ = LISTS["invoices"]
    newest = [
        {
            **paid,
            "settle_date": str(RECENT + at),
            "memo": f"lamp {at}",
            "r_hash": "Wlo=",
        }
        for at in range(500)
    ]
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd

        async def gone(_: object) -> object:
            await page.wait_for_selector("#rows tr")
            return AWAY

        def lose(_: object) -> object:
            lnd.answers["GET /v1/invoices"] = gone
            return {"invoices": newest, "first_index_offset": "90000"}

        lnd.answers["GET /v1/invoices"] = lose
        await pages.open("/wallet/payments")
        await pages.see("1 to 50 of 500 payments so far")
        await pages.see("Older payments could not be read")
        assert await page.is_hidden("#export"), "of half a list"
        rest = {"invoices": newest[:7], "first_index_offset": "1"}

        def first(_: object) -> object:
            lnd.answers["GET /v1/invoices"] = rest
            return {"invoices": newest, "first_index_offset": "7"}

        lnd.answers["GET /v1/invoices"] = first
        await pages.press("Refresh")
        await page.wait_for_selector("#export:visible")
        await pages.see("1 to 50 of 507 payments")
        assert await page.locator("#rows tr").count() == 50, "however many there are"
        assert await page.is_hidden("#partial")
