"""Send: decoded first, never paid twice, and what happened to the money."""

from typing import Any

from playwright.async_api import expect

from leyden.app.serving.site import Site
from tests.base.pages.screen import Screen
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.node_pages import (
    AWAY,
    KEY,
    PIER,
    NodePages,
    Refusal,
    node_pages,
)
from tests.programs import needs

pytestmark = needs("chromium")

HASH = "5a" * 32
INVOICE = "lnsb210n1pqqqq"
ADDRESS = "sb1qqqqqqqqqqqqqqqqqqq"
UNKNOWN = Refusal("payment isn't initiated")
SPENDS = {"uri:/routerrpc.Router/SendPaymentV2", "uri:/lnrpc.Lightning/SendCoins"}


def read(**more: object) -> dict[str, object]:
    """What lnd reads in an invoice."""
    return {
        "destination": PIER,
        "payment_hash": HASH,
        "num_msat": "21000000",
        "timestamp": "4102444800",
        "expiry": "3600",
        "description": "two lamps",
        **more,
    }


def payment(status: str, **more: object) -> dict[str, Any]:
    return {
        "status": status,
        "payment_hash": HASH,
        "payment_preimage": "ee" * 32,
        "value_msat": "21000000",
        "fee_msat": "2100",
        "creation_time_ns": "1772366400000000000",
        "failure_reason": "FAILURE_REASON_NONE",
        "htlcs": [],
        **more,
    }


def failed(reason: str) -> dict[str, Any]:
    return payment("FAILED", failure_reason=f"FAILURE_REASON_{reason}")


async def ready(pages: NodePages, *, after: Any = UNKNOWN, **invoice: object) -> None:
    """Open the page with an invoice in it; `after` is what lnd knows of its payment."""
    know(pages, INVOICE, after=after, **invoice)
    await pages.open("/wallet/send")
    await paste(pages, INVOICE)


def know(
    pages: NodePages, request: str, *, after: Any = UNKNOWN, **invoice: object
) -> None:
    """Let lnd know an invoice."""
    pages.lnd.answers[f"GET /v1/payreq/{request}"] = read(**invoice)
    pages.lnd.answers["GET /v1/graph/node/"] = {"node": {"alias": "pier"}}
    pages.lnd.answers["GET /v2/router/track/"] = after


async def paste(pages: NodePages, text: str) -> None:
    await pages.page.fill("#to", text)
    await pages.press("Continue")


async def test_an_invoice_is_reviewed_confirmed_and_paid_once(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        await ready(pages)
        await pages.see("two lamps")
        assert await page.input_value("#amount") == "21,000"
        assert await page.input_value("#fee-limit") == "210"
        assert lnd.asked("POST /v2/router/send") == []
        await pages.press("Pay")
        await page.click("#confirm-cancel")
        assert len(lnd.granted) == 1, "nothing may spend before the password"
        lnd.answers["POST /v2/router/send"] = [
            payment("IN_FLIGHT"),
            payment("SUCCEEDED"),
        ]
        await pages.press("Pay")
        said = await pages.confirm("Pay 21,000 sat")
        assert said[:2] == ["To pier", "The fee is at most 210 sat."]
        await pages.see("Paid 21,000 sat")
        await pages.see("2.1 sat")
        assert lnd.granted[1:] == [SPENDS]
        assert lnd.asked("POST /v2/router/send") == [
            {
                "payment_request": INVOICE,
                "fee_limit_sat": "210",
                "timeout_seconds": 60,
                "max_parts": 16,
            }
        ]
        await ready(pages, after=[payment("SUCCEEDED")])
        assert "has already paid this invoice: 21,000 sat" in await pages.alert()
        assert len(lnd.asked("POST /v2/router/send")) == 1


FAILURES = (
    ([failed("NO_ROUTE")], "No route to the recipient"),
    ([failed("INCORRECT_PAYMENT_DETAILS")], "The recipient rejected it"),
    (Refusal("invoice expired. Valid until 2026"), "This invoice has expired."),
    (Refusal("unknown feature 9"), "The node rejected this: unknown feature 9"),
)


async def test_what_fails_says_that_nothing_was_sent(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        await ready(pages)
        for told, says in FAILURES:
            pages.lnd.answers["POST /v2/router/send"] = told
            await pages.press("Pay")
            await pages.confirm("Pay 21,000 sat")  # with one password
            await pages.see(says)
            reason = await pages.page.inner_text("#failed-reason")
            assert reason.endswith("Nothing was sent.")
            await pages.press("Start over")
            await paste(pages, INVOICE)
        assert len(pages.lnd.granted) == 2


async def test_a_lost_answer_is_never_taken_for_nothing_sent(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    """It may still arrive; and what failed before says nothing of this one."""
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        await page.clock.install()
        lnd.answers["POST /v2/router/send"] = AWAY
        for before in (UNKNOWN, [failed("TIMEOUT")]):
            await ready(pages, after=before)
            await pages.press("Pay")
            await pages.confirm("Pay 21,000 sat")
            for _ in range(3):
                await page.clock.fast_forward("00:03")
                await page.wait_for_timeout(100)
            await pages.see("What became of the payment is not known.")
            assert await page.inner_text("#failed-title") == (
                "Not known whether it is paid"
            )
            assert "Nothing" not in await page.inner_text("#failed-reason")
        assert len(lnd.asked("POST /v2/router/send")) == 2
        await pages.press("Start over")
        for known, is_offered in ((HASH, False), ("5b" * 32, True)):
            know(pages, INVOICE, payment_hash=known)
            await paste(pages, f"bitcoin:{ADDRESS}?lightning={INVOICE}")
            await page.wait_for_selector("#review:visible")
            assert await page.is_visible("#on-chain-instead") is is_offered
            await pages.press("Back")


async def test_two_tabs_pay_an_invoice_once(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        lnd = pages.lnd
        await ready(pages)
        screen = await Screen.opened(pages.page.context, pages.screen.base)
        other = NodePages(screen, pages.node, lnd)
        other.is_open = True  # the vault is, in all tabs
        await other.open("/wallet/send")
        await paste(other, INVOICE)
        await other.press("Pay")  # and its question stays open

        def send(_: object) -> object:
            lnd.answers["GET /v2/router/track/"] = [payment("IN_FLIGHT", htlcs=[{}])]
            return [payment("IN_FLIGHT")]

        lnd.answers["POST /v2/router/send"] = send
        await pages.press("Pay")
        await pages.confirm("Pay 21,000 sat")
        await pages.see("1 attempt")
        await other.confirm("Pay 21,000 sat")
        await other.see("1 attempt")
        assert len(lnd.asked("POST /v2/router/send")) == 1
        lnd.answers["GET /v2/router/track/"] = [payment("SUCCEEDED")]
        for tab in (pages, other):
            await tab.see("Paid 21,000 sat")


async def test_a_payment_that_began_between_question_and_answer_is_followed(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        await ready(pages)

        def send(_: object) -> object:
            pages.lnd.answers["GET /v2/router/track/"] = [payment("SUCCEEDED")]
            return Refusal("invoice is already paid")

        pages.lnd.answers["POST /v2/router/send"] = send
        await pages.press("Pay")
        await pages.confirm("Pay 21,000 sat")
        await pages.see("Paid 21,000 sat")


async def test_a_browser_that_loses_the_network_while_it_pays_comes_back(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        await page.clock.install()
        await ready(pages)
        before = dict(lnd.answers)

        def unplug(_: object) -> object:
            lnd.answers = dict.fromkeys([*before, "POST /v2/router/send"], AWAY)
            return AWAY

        lnd.answers["POST /v2/router/send"] = unplug
        await pages.press("Pay")
        await pages.confirm("Pay 21,000 sat")
        await pages.see("Your browser can't reach the node.")
        await page.clock.fast_forward("10:00")
        await pages.see("Your browser can't reach the node.")
        lnd.answers = {**before, "GET /v2/router/track/": [payment("SUCCEEDED")]}
        await page.clock.fast_forward("00:20")
        await pages.see("Paid 21,000 sat")
        assert len(lnd.asked("POST /v2/router/send")) == 1


async def test_a_payment_whose_answer_is_lost_is_followed_until_its_end(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        await page.clock.install()
        await ready(pages)

        def lose(_: object) -> object:
            lnd.answers["GET /v2/router/track/"] = AWAY
            return AWAY

        lnd.answers["POST /v2/router/send"] = lose
        await pages.press("Pay")
        await pages.confirm("Pay 21,000 sat")
        await pages.see("Your browser can't reach the node.")
        lnd.answers["GET /v2/router/track/"] = [payment("IN_FLIGHT", htlcs=[{}])]
        await page.clock.fast_forward("00:05")
        await pages.see("1 attempt")
        await page.clock.fast_forward("01:30")
        await pages.see("The payment hangs.")
        # Whoever comes back with the same invoice sees the same payment.
        await pages.press("Send another")
        await paste(pages, INVOICE)
        await pages.see("The node is paying")
        lnd.answers["GET /v2/router/track/"] = [payment("SUCCEEDED")]
        await page.clock.fast_forward("00:05")
        await pages.see("Paid 21,000 sat")
        assert len(lnd.asked("POST /v2/router/send")) == 1


async def test_a_node_that_locks_in_the_middle_says_what_is_open(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        await ready(pages)
        locked = Refusal("wallet locked, unlock it to enable full RPC access")

        def lock(_: object) -> object:
            pages.lnd.answers["GET /v2/router/track/"] = locked
            return [payment("IN_FLIGHT")]

        pages.lnd.answers["POST /v2/router/send"] = lock
        await pages.press("Pay")
        await pages.confirm("Pay 21,000 sat")
        await pages.see("What became of the payment is not known")
        await pages.see("The wallet is locked")
        pages.lnd.answers["GET /v1/getinfo"] = locked  # which closes the vault
        await pages.page.wait_for_selector("#password:visible")
        assert "What became of the payment is not known yet" in await pages.alert()


BAD = (
    ("", None, "Paste an invoice or an address."),
    ("a lamp", None, "Not an invoice, an address or a bitcoin: URI."),
    (INVOICE, {"timestamp": "1000"}, "This invoice expired at"),
    (INVOICE, {"destination": KEY}, "This invoice is of this node itself."),
    (INVOICE, {"num_msat": "700000000"}, "700,000 sat is more than this node can"),
    (
        INVOICE,
        Refusal("invoice not for current active network 'simnet'"),
        "This invoice is for another network",
    ),
    (INVOICE, Refusal("checksum failed. Expected a, got b"), "a character of it"),
    (ADDRESS, Refusal("address is not for simnet"), "not an invoice or address"),
)


async def test_what_cannot_be_paid_is_said_before_anything_is(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        lnd = pages.lnd
        lnd.answers["GET /v2/router/track/"] = UNKNOWN
        await pages.open("/wallet/send")
        for text, told, says in BAD:
            answer = told if isinstance(told, Refusal) else read(**(told or {}))
            lnd.answers["GET /v1/payreq/"] = answer
            lnd.answers["GET /v1/transactions/fee"] = told
            await paste(pages, text)
            alert = await pages.alert()
            assert says in alert
            assert not text or "Nothing was sent." in alert


async def test_a_lightning_address_is_for_the_command(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    """The page may call no other server; a shell takes what was pasted as it is."""
    async with node_pages(site, alice, fleet_harness) as pages:
        await pages.open("/wallet/send")
        node_id = pages.node.rpartition("/")[2]
        for text, quoted in (
            ("alice@harbour.example", "alice@harbour.example"),
            ("lightning:LNURL1DP68", "LNURL1DP68"),
            ("lnurlp://a.example/$(id)'s", "'lnurlp://a.example/$(id)'\\''s'"),
        ):
            await paste(pages, text)
            await pages.see("This is a Lightning address or an LNURL.")
            command = await pages.page.inner_text("#send-command")
            assert command == f"leyden wallet send {node_id} {quoted} SATS"
        await paste(pages, "a lamp")
        assert "Nothing was sent." in await pages.alert()
        assert await pages.page.is_hidden("#by-command")


async def test_an_invoice_without_amount_asks_for_one(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        await ready(pages, num_msat="0")
        await pages.see("Over Lightning")
        await pages.press("Pay")
        assert "Amount: must be a whole number" in await pages.alert()
        lnd.answers["POST /v2/router/send"] = [payment("SUCCEEDED")]
        await page.fill("#amount", "21000")
        await page.fill("#fee-limit", "7")
        await pages.press("Pay")
        await pages.confirm("Pay 21,000 sat")
        await pages.see("Paid 21,000 sat")
        (sent,) = lnd.asked("POST /v2/router/send")
        assert (sent["amt"], sent["fee_limit_sat"]) == ("21000", "7")


async def test_coins_are_sent_once_although_the_answer_is_lost(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        too_few = Refusal("insufficient funds available to construct transaction")
        lnd.answers["GET /v1/transactions/fee"] = too_few
        lnd.answers["GET /v2/wallet/estimatefee/6"] = {"sat_per_kw": "3012"}

        def send(body: dict[str, Any]) -> object:
            made = {"label": body["label"], "tx_hash": "7e" * 32}
            lnd.answers["GET /v1/transactions"] = {"transactions": [made]}
            return AWAY

        lnd.answers["POST /v1/transactions"] = send
        await pages.open("/wallet/send")
        await paste(pages, f"bitcoin:{ADDRESS}?amount=0.0003&message=two%20lamps")
        await pages.see("two lamps")
        await expect(page.locator("#rate")).to_have_value("12")
        await page.fill("#amount", "60000")
        await pages.press("Pay")
        assert "more than the node's confirmed coins: 50,000 sat" in await pages.alert()
        await page.fill("#amount", "30000")
        await pages.press("Pay")
        said = await pages.confirm("Send 30,000 sat")
        assert said[:2] == [f"To {ADDRESS}", "Plus a network fee of 12 sat/vB."]
        await pages.see("7e" * 32)
        (sent,) = lnd.asked("POST /v1/transactions")
        assert (sent["addr"], sent["amount"], sent["sat_per_vbyte"]) == (
            ADDRESS,
            "30000",
            "12",
        )


async def test_coins_of_a_refused_or_lost_transaction_are_looked_for(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        lnd.answers["GET /v1/transactions/fee"] = {"sat_per_vbyte": "12"}

        def publish(body: dict[str, Any]) -> object:
            made = {"label": body["label"], "tx_hash": "7e" * 32}
            lnd.answers["GET /v1/transactions"] = {"transactions": [made]}
            return Refusal("chain backend: timeout")

        def lock(_: object) -> object:
            lnd.answers["GET /v1/transactions"] = Refusal("wallet locked, unlock it")
            return AWAY

        await pages.open("/wallet/send")
        for answer, says in (
            (Refusal("insufficient funds available"), "not enough confirmed coins"),
            (publish, "7e" * 32),
            (lock, "Whether the coins were sent is not known: The wallet is locked"),
        ):
            lnd.answers["GET /v1/transactions"] = {"transactions": []}
            lnd.answers["POST /v1/transactions"] = answer
            await pages.screen.go(f"{pages.node}/wallet/send")
            await page.wait_for_selector("#lock:visible")
            await paste(pages, ADDRESS)
            await page.check("#all")
            await pages.press("Back")
            await paste(pages, ADDRESS)
            await page.wait_for_selector("#review:visible")
            assert not await page.is_checked("#all"), "of what was reviewed before"
            await page.fill("#amount", "30000")
            await page.fill("#rate", "12")
            await pages.press("Pay")
            await pages.confirm("Send 30,000 sat")
            await pages.see(says)
            if not callable(answer):
                assert "Nothing was sent." in await pages.alert()


async def test_coins_that_may_have_been_sent_are_not_offered_again(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        page, lnd = pages.page, pages.lnd
        await page.clock.install()
        lnd.answers["GET /v1/transactions/fee"] = {}
        lnd.answers["POST /v1/transactions"] = AWAY
        await pages.open("/wallet/send")
        await paste(pages, ADDRESS)
        await page.fill("#amount", "30000")
        await page.fill("#rate", "1,5")
        await pages.press("Pay")
        assert "Fee rate: must be a whole number" in await pages.alert()
        await page.fill("#rate", "12")
        await pages.press("Pay")
        await pages.confirm("Send 30,000 sat")
        for _ in range(10):
            await page.clock.fast_forward("00:02")
            await page.wait_for_timeout(100)
        await pages.see("Whether the coins were sent is not known")
        assert await page.inner_text("#failed-title") == (
            "Not known whether the coins were sent"
        )
        assert await page.is_hidden("#review")
        await pages.press("Start over")
        lnd.answers["GET /v1/transactions/fee"] = AWAY
        await paste(pages, ADDRESS)
        assert "Nothing more was sent." in await pages.alert()
        await pages.press("Lock")
        await pages.see("What became of the payment is not known yet")
        assert len(lnd.asked("POST /v1/transactions")) == 1
