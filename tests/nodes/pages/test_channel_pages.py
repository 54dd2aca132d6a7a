"""Channels: opening, closing, moving balance, fees and peers; each confirmed first."""

import asyncio
import base64
from typing import Any

from playwright.async_api import expect

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
        await page.check("#zero-conf")
        await pages.press("Open channel")
        lines = await pages.confirm("Open channel")
        assert "before it is confirmed" in lines[3]
        assert lines[0] == f"With {MOLE[:16]}… at mole.example:9735"
        assert "7e" * 32 in await said(pages)
        (opened,) = lnd.asked("POST /v1/channels")
        assert (opened["zero_conf"], opened["private"]) == (True, False)
        (connect,) = lnd.asked("POST /v1/peers")
        assert connect["addr"] == {"pubkey": MOLE, "host": "mole.example:9735"}
        assert lnd.granted[1] == {
            "uri:/routerrpc.Router/SendPaymentV2",
            *(
                f"uri:/lnrpc.Lightning/{call}"
                for call in (
                    *("OpenChannelSync", "CloseChannel", "UpdateChannelPolicy"),
                    *("ConnectPeer", "DisconnectPeer"),
                )
            ),
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
        await page.fill("#close-rate", "7")
        await pages.press("Close channel")
        lines = await pages.confirm("Close channel")
        assert lines[0].startswith("With pier: 600,000 sat return")
        assert lines[1] == "The closing transaction pays 7 sat/vB."
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


async def test_a_button_of_one_of_two_channels_with_a_peer_keeps_the_keyboard(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    other = channel(7_000, 3_000, active=True) | {"channel_point": f"{'2e' * 32}:1"}
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        lnd.answers["GET /v1/channels"]["channels"].append(other)
        await page.clock.install()
        await pages.open("/wallet/channels")
        await page.focus("#channels tr:nth-child(2) [data-close]")
        asked = len(lnd.asked("GET /v1/fees"))
        async with page.expect_response("**/v1/fees"):
            await page.clock.fast_forward("00:11")
        assert len(lnd.asked("GET /v1/fees")) > asked
        await expect(
            page.locator("#channels tr:nth-child(2) [data-close]")
        ).to_be_focused()
        await page.keyboard.press("Enter")
        assert await page.inner_text("#close-local") == "7,000 sat"


async def test_a_peer_that_never_agrees_to_a_close_leaves_it_not_known(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    gone = asyncio.Event()

    async def wait(_: object) -> object:
        await gone.wait()
        return AWAY

    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        lnd.answers["DELETE /v1/channels/"] = wait
        await page.clock.install()
        await pages.open("/wallet/channels")
        await page.click("[data-close]")
        await pages.press("Close channel")
        await pages.confirm("Close channel")
        await pages.see("Closing the channel…")
        await page.clock.fast_forward("01:31")
        assert "The channel may be closing" in await pages.alert()
        gone.set()


HASH = "5a" * 32


def moved(status: str, **more: object) -> dict[str, object]:
    return {
        "status": status,
        "payment_hash": HASH,
        "value_msat": "5000000",
        "fee_msat": "1500",
        "creation_time_ns": "1772366400000000000",
        "htlcs": [{}],
        **more,
    }


async def moving(pages: NodePages) -> None:
    """Open the page of a node with two channels, with an amount to move."""
    far = channel(100_000, 300_000, remote_pubkey=MOLE, chan_id="43", peer_alias="mole")
    near = channel(600_000, 400_000, active=True)
    both = [near, far | {"active": True, "channel_point": f"{'2e' * 32}:0"}]
    pages.lnd.answers |= {
        "GET /v1/channels": {"channels": both},
        "POST /v1/invoices": {
            "r_hash": base64.b64encode(bytes.fromhex(HASH)).decode(),
            "payment_request": "lnsb50u1own",
        },
        "GET /v2/router/track/": Refusal("payment isn't initiated"),
    }
    await pages.open("/wallet/channels")
    await ask_to_move(pages)


async def ask_to_move(pages: NodePages) -> None:
    await pages.press("Move balance out of the channel with pier")
    await pages.page.fill("#move-amount", "5000")
    await pages.page.fill("#move-limit", "7")
    await pages.press("Move balance")


async def test_balance_moves_by_a_payment_of_the_node_to_itself(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        lnd = pages.lnd
        lnd.answers["POST /v2/router/send"] = [moved("IN_FLIGHT"), moved("SUCCEEDED")]
        await moving(pages)
        lines = await pages.confirm("Move 5,000 sat")
        assert lines == [
            "Out through the channel with pier, back in from mole.",
            "The fee is at most 7 sat. Only the fee leaves this node.",
        ]
        assert await said(pages) == "Moved 5,000 sat, for a fee of 1.5 sat."
        (made,) = lnd.asked("POST /v1/invoices")
        assert (made["value"], made["expiry"]) == ("5000", "120")
        assert lnd.asked("POST /v2/router/send") == [
            {
                "payment_request": "lnsb50u1own",
                "fee_limit_sat": "7",
                "timeout_seconds": 60,
                "outgoing_chan_ids": ["42"],
                "last_hop_pubkey": base64.b64encode(bytes.fromhex(MOLE)).decode(),
                "allow_self_payment": True,
            }
        ]


async def test_balance_that_does_not_move_says_what_became_of_it(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        failure = moved("FAILED", failure_reason="FAILURE_REASON_NO_ROUTE")
        lnd.answers["POST /v2/router/send"] = [failure]
        await moving(pages)
        await pages.confirm("Move 5,000 sat")
        alert = await pages.alert()
        assert alert.startswith("No route")
        assert alert.endswith("Nothing was moved, and no fee was paid.")
        lnd.answers["POST /v2/router/send"] = Refusal("self-payments not allowed")
        await ask_to_move(pages)
        await pages.confirm("Move 5,000 sat")
        await pages.see("self-payments not allowed Nothing was moved")
        await pages.press("Move balance out of the channel with pier")
        for amount, limit, says in (
            ("300001", "7", "at most 300,000 sat can move between these two."),
            ("x", "7", "Amount: must be a whole number of sats."),
            ("5000", "", "Fee limit: must be a whole number of sats."),
        ):
            await page.fill("#move-amount", amount)
            await page.fill("#move-limit", limit)
            await pages.press("Move balance")
            assert says in await pages.alert()
        lnd.answers["POST /v1/invoices"] = AWAY
        await page.fill("#move-limit", "7")
        await pages.press("Move balance")
        await pages.confirm("Move 5,000 sat")
        await pages.see("could not reach the node. Nothing was moved")
        assert len(lnd.asked("POST /v2/router/send")) == 2


async def test_balance_whose_payment_hangs_is_shown_and_moved_once(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        await page.clock.install()
        lnd.answers["POST /v2/router/send"] = AWAY
        await moving(pages)
        await pages.confirm("Move 5,000 sat")
        lnd.answers["GET /v2/router/track/"] = [moved("IN_FLIGHT")]
        await page.clock.fast_forward("00:05")
        await pages.see("1 attempt")
        await page.clock.fast_forward("01:30")
        await pages.see("The payment hangs.")
        lnd.answers["GET /v2/router/track/"] = [moved("SUCCEEDED")]
        await page.clock.fast_forward("00:05")
        assert await said(pages) == "Moved 5,000 sat, for a fee of 1.5 sat."

        lnd.answers["GET /v2/router/track/"] = Refusal("payment isn't initiated")
        await ask_to_move(pages)
        await pages.confirm("Move 5,000 sat")
        for _ in range(3):
            await page.clock.fast_forward("00:03")
            await page.wait_for_timeout(100)
        await pages.see("Whether the balance moved is not known.")
        assert len(lnd.asked("POST /v2/router/send")) == 2


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
        # A dialog says that it was closed a moment after it was.
        await expect(page.locator("#confirm-password")).to_have_value("")
