"""Channels: the list, opening, closing, fees and peers; each confirmed first."""

from typing import Any

from leyden.app.serving.site import Site
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.node_pages import (
    AWAY,
    KEY,
    PIER,
    NodePages,
    Refusal,
    channel,
    node_pages,
)
from tests.programs import needs

pytestmark = needs("chromium")

POINT = "1f" * 32
MOLE = f"03{'ee' * 32}"


async def said(pages: NodePages) -> str:
    await pages.page.wait_for_selector("#said:visible")
    return await pages.page.inner_text("#said")


async def test_channels_are_listed_with_what_they_wait_for(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        lnd = pages.lnd
        other = channel(5, 5, remote_node_pub=PIER)
        lnd.answers["GET /v1/channels/pending"] = {
            "pending_open_channels": [
                {"channel": other, "confirmations_until_active": 2}
            ],
            "pending_force_closing_channels": [
                {"channel": other, "blocks_til_maturity": 144, "limbo_balance": "7000"}
            ],
        }
        await pages.open("/wallet/channels")
        rows = await pages.page.locator("#channels tr").all_inner_texts()
        assert len(rows) == 3
        for words in (
            "pier",
            "active",
            "600,000 sat",
            "1,000 msat + 10 ppm",
            "up 90 %",
        ):
            assert words in rows[0]
        assert "2 confirmations to go" in rows[1]
        assert "7,000 sat returns in 144 blocks (about 24 h)" in rows[2]
        assert await pages.page.locator("[data-close]").count() == 1


async def test_a_channel_is_opened_closed_and_its_fees_changed(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        lnd.answers["POST /v1/peers"] = {}
        lnd.answers["POST /v1/channels"] = {"funding_txid_str": "7e" * 32}
        await pages.open("/wallet/channels")
        await page.fill("#peer-uri", f"{MOLE}@mole.example:9735")
        await page.fill("#funding", "30000")
        await pages.press("Open channel")
        lines = await pages.confirm("Open channel")
        assert lines[0] == f"With {MOLE[:16]}… at mole.example:9735"
        assert "7e" * 32 in await said(pages)
        (connect,) = lnd.asked("POST /v1/peers")
        assert connect["addr"] == {"pubkey": MOLE, "host": "mole.example:9735"}
        assert lnd.granted[1] == {
            f"uri:/lnrpc.Lightning/{call}"
            for call in (
                *("OpenChannelSync", "CloseChannel", "UpdateChannelPolicy"),
                *("ConnectPeer", "DisconnectPeer"),
            )
        }

        policy: dict[str, Any] = {"time_lock_delta": 77}
        edge = {"node1_pub": KEY, "node1_policy": policy, "node2_policy": {}}
        lnd.answers["GET /v1/graph/edge/42"] = edge
        lnd.answers["POST /v1/chanpolicy"] = {"failed_updates": []}
        await page.click("[data-change]")
        await page.fill("#ppm", "250")
        await pages.press("Change fees")
        await pages.confirm("Change fees")
        assert await said(pages) == "Fees changed: 1 channel."
        assert lnd.asked("POST /v1/chanpolicy") == [
            {
                "chan_point": {"funding_txid_str": POINT, "output_index": 0},
                "base_fee_msat": "1000",
                "fee_rate_ppm": 250,
                "time_lock_delta": 77,
            }
        ]

        lnd.answers["DELETE /v1/channels/"] = [{"close_pending": {}}]
        await page.click("[data-close]")
        assert "144 blocks (about 24 h)" in await page.inner_text("#force-costs")
        await pages.press("Close channel")
        lines = await pages.confirm("Close channel")
        assert lines[0].startswith("With pier: 600,000 sat return")
        await pages.see("The channel is closing")
        assert len(lnd.asked(f"DELETE /v1/channels/{POINT}/0?force=false")) == 1
        assert len(lnd.granted) == 2, "one password is enough for this page"


async def test_what_goes_wrong_says_what_happened_to_the_money(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        await pages.open("/wallet/channels")
        for uri, funding, says in (
            ("pier", "1", "Peer: must look like PUBLIC-KEY@HOST:PORT"),
            (PIER, "x", "Amount: must be a whole number of sats. Nothing was sent."),
            (MOLE, "30000", "Peer: this node is not connected to it."),
        ):
            await page.fill("#peer-uri", uri)
            await page.fill("#funding", funding)
            await pages.press("Open channel")
            assert says in await pages.alert()
        for told, says in (
            (Refusal("not enough witness outputs"), "and nothing was sent."),
            (AWAY, "The channel may have been opened: it is in the list if it was."),
        ):
            lnd.answers["POST /v1/channels"] = told
            await page.fill("#peer-uri", PIER)
            await page.fill("#funding", "30000")
            await pages.press("Open channel")
            await pages.confirm("Open channel")
            await pages.see(says)
        lnd.answers["GET /v1/channels"] = {
            "channels": [channel(600_000, 400_000, active=False)]
        }
        await page.reload()
        await page.click("[data-close]")
        assert await page.is_checked("#force")
        await page.uncheck("#force")
        await pages.press("Close channel")
        assert "The channel stays open." in await pages.alert()


async def test_a_wrong_password_spends_nothing(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        await pages.open("/wallet/channels")
        await page.get_by_role("button", name="Disconnect 03").click()
        await page.wait_for_selector("#confirm-action[open]")
        await page.fill("#confirm-password", "not the password")
        await page.click("#confirm-button")
        await page.wait_for_selector("#confirm-wrong:visible")
        assert len(lnd.granted) == 1
        await page.click("#confirm-cancel")
        assert lnd.asked("DELETE /v1/peers") == []
        assert await page.input_value("#confirm-password") == ""
