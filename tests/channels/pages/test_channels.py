"""Channels as people buy them: priced, ordered, paid, followed, given up."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import force_setattr

from leyden.base.platform import Platform
from leyden.base.rules.units import Sats
from leyden.base.settings import Settings
from leyden.channels.money import credit
from leyden.channels.rules.payments import Confirmations
from leyden.channels.rules.pricing import Terms
from leyden.nodes.rules.observations import LndState
from leyden.values import replace
from tests.base.pages.visitor import Visitor
from tests.channels.api.flow.conftest import PRICE, World
from tests.nodes.fleet_harness import FleetHarness

ONCE = "7b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55"
WISH = {
    "capacity": "1,000,000",
    "self_chan_balance": "",
    "lease": "2016",
    "tier": "best",
    "premium": "",
}


@pytest.fixture
def platform(selling: Platform) -> Platform:
    return selling


async def ordered(visitor: Visitor, **changes: str) -> str:
    """Order a channel as a person does; give the address of its page."""
    await visitor.get(f"{visitor.root}/channels/new")
    answer = await visitor.submit(
        f"{visitor.root}/channels/new", {**WISH, "once": ONCE, **changes}
    )
    assert answer.status == 303, answer.text
    return answer.location


async def until(
    look: Callable[[], Awaitable[str]], *, shows: str, patience_s: float = 20
) -> str:
    async with asyncio.timeout(patience_s):
        while shows not in (text := await look()):
            await asyncio.sleep(0.02)
    return text


async def paid(visitor: Visitor, world: World) -> tuple[str, str]:
    """Order and pay; return the order's page, and its text once there is a ticket."""
    page = await ordered(visitor)
    (request,) = world.payments.requests.values()
    world.payments.pay(request)

    async def shown() -> str:
        return (await visitor.get(page)).text

    return page, await until(shown, shows="Register your ticket")


async def test_the_price_is_shown_while_one_types(alice: Visitor) -> None:
    url = f"{alice.root}/channels/quote?capacity=1000000&lease=2016&tier=best&premium="
    assert f"{PRICE:,} sat" in (await alice.get(url)).text
    half = await alice.get(url.replace("1000000", "10"))
    assert (half.status, "Capacity: must be a multiple" in half.text) == (200, True)
    for wrong in ("x", "", "-1", "1e6", "9" * 17):
        shown = await alice.get(url.replace("1000000", wrong))
        assert (shown.status, "must be" in shown.text) == (200, True)


async def test_what_may_come_back_is_said_before_anything_is_paid(
    alice: Visitor, world: World
) -> None:
    form = f"{alice.root}/channels/new?for="
    page = await ordered(alice)
    for path in (form, page):
        text = (await alice.get(path)).text.replace("</strong>", "")
        assert "fees" in text
        assert "when your channel is bought" in text
    terms = replace(Terms(), keeps_unused_fee=True)
    force_setattr(world.channels, "rules", replace(world.channels.rules, terms=terms))
    await alice.get(form)  # a price that was shown before holds for ten minutes
    stored = await ordered(alice, once=ONCE.replace("7", "8"))
    for path in (form, stored):
        assert "that are not needed are not refunded" in (await alice.get(path)).text
    assert "not refunded" not in (await alice.get(page)).text


async def test_without_scripts_the_price_is_shown_before_the_order(
    alice: Visitor, world: World
) -> None:
    form = f"{alice.root}/channels/new"
    assert f"{PRICE:,} sat" in (await alice.get(f"{form}?for=")).text
    body = {**WISH, "capacity": "4000000", "once": ONCE, "price": "1"}
    shown = await alice.submit(form, body)
    assert (shown.status, "5,000 sat" in shown.text) == (200, True)
    assert 'value="4,000,000"' in shown.text
    assert ONCE in shown.text
    wrong = await alice.submit(form, {**body, "capacity": "<many>"})
    assert (wrong.status, "must be a whole number" in wrong.text) == (200, True)
    assert 'value="&lt;many&gt;"' in wrong.text
    assert not world.payments.requests


async def test_an_on_chain_payment_shows_its_confirmations(
    alice: Visitor, world: World
) -> None:
    three = replace(world.channels.rules, confirmations=Confirmations(((Sats(0), 3),)))
    force_setattr(world.channels, "rules", three)
    page = await ordered(alice)
    (request,) = world.payments.requests.values()
    world.payments.send(request.onchain_address, PRICE)
    await until(lambda: _text(alice, page), shows="have 0 of 3 confirmations")
    world.payments.mine(1)
    await until(lambda: _text(alice, page), shows="have 1 of 3 confirmations")
    world.payments.go_away()
    assert "need 3 confirmations" in await _text(alice, page)


async def test_a_filled_order_shows_its_channel_and_what_came_back(
    alice: Visitor, bob: Visitor, world: World
) -> None:
    page = await ordered(alice)
    (request,) = world.payments.requests.values()
    world.payments.pay(request)
    text = await until(lambda: _text(alice, page), shows="Register your ticket")
    ticket = text.split('id="ticket">')[1].split("<")[0]
    assert world.market.register(ticket)
    assert world.market.match(ticket, unused=318)
    await world.follow_tickets()
    text = await until(lambda: _text(bob, page), shows="Your channel was bought")
    (lease,) = (
        await world.channels.database.reader.leases.of_orders([page.rpartition("/")[2]])
    ).values()
    for shown in (
        *(lease.channel_point, lease.node, lease.peer),
        "block 852,016",
        '<time datetime="2026-03-15T12:00:00+00:00">',
        f"{PRICE - 318:,} sat",
        "318 sat of the maximum fee were not needed. They are now your credit.",
        f'href="{bob.root}/credit"',
    ):
        assert shown in text, shown
    assert "Pay " not in text
    leases = world.channels.database.reader.leases
    bought = await leases.of_organization(alice.organization_id, limit=9)
    assert bought == {lease.channel_point: (page.rpartition("/")[2], 852_016)}
    assert await leases.of_organization("another", limit=9) == {}
    account = (await alice.get(f"{alice.root}/credit")).text
    for shown in ("Payment", "Channel bought", "Unused fee", ">318 sat<"):
        assert shown in account, shown
    table = account.partition('aria-label="Transactions"')[2].partition("</table>")[0]
    sheet = (await alice.get(f"{alice.root}/credit/ledger.csv")).text
    for theirs in ("auction", "earned", "received", "promised"):
        assert theirs not in table, theirs
        assert theirs not in sheet, theirs


async def test_a_ticket_is_registered_on_the_chain_of_the_node(
    alice: Visitor, world: World, fleet_harness: FleetHarness, settings: Settings
) -> None:
    force_setattr(settings, "testnet_chain", "signet")
    node = await fleet_harness.running(organization_id=alice.organization_id)
    fleet_harness.runtime.say(node.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    _, text = await paid(alice, world)
    assert "poold --network=signet" in text


async def test_an_order_is_paid_and_its_ticket_shown(
    alice: Visitor, world: World
) -> None:
    page = await ordered(alice)
    shown = await alice.get(page)
    assert f"Pay <span data-worth>{PRICE:,} sat</span>" in shown.text
    assert shown.text.count("<svg") == 2
    (request,) = world.payments.requests.values()
    assert request.lightning_invoice in shown.text
    world.payments.pay(request)

    async def look() -> str:
        return (await alice.get(page)).text

    text = await until(look, shows="Register your ticket")
    assert "pool sidecar register sidecar" in text
    assert (
        "leyden channels use-ticket" not in text
    )  # without a node here to claim it for
    assert "Ticket created" in text


@pytest.mark.parametrize(
    ("certificate", "market", "is_told"),
    [
        (".leyden/devnet/btcd/rpc.cert", True, True),
        (".leyden/devnet/btcd/rpc.cert", False, False),
        ("/etc/btcd/rpc.cert", True, False),
        ("", True, False),
    ],
    ids=["up", "up without a market", "another btcd", "no btcd"],
)
async def test_on_a_private_chain_a_command_pays_the_order(
    alice: Visitor,
    platform: Platform,
    world: World,
    certificate: str,
    market: bool,  # noqa: FBT001
    is_told: bool,  # noqa: FBT001
) -> None:
    settings = replace(
        platform.settings,
        testnet_rpc_certificate=certificate and str(Path(certificate).absolute()),
        devnet_market=market,
    )
    force_setattr(platform, "settings", settings)
    page = await ordered(alice)
    (request,) = world.payments.requests.values()
    shown = (await alice.get(page)).text
    assert (f"./leyden dev pay {request.lightning_invoice}<" in shown) is is_told
    assert ("leyden dev" in shown) is is_told


async def test_sent_twice_it_is_ordered_once(alice: Visitor, world: World) -> None:
    assert await ordered(alice) == await ordered(alice)
    assert len(world.payments.requests) == 1
    listed = await alice.get(f"{alice.root}/channels")
    assert listed.text.count("<tr>") == 2


async def test_whoever_cannot_spend_sees_no_ticket_and_orders_nothing(
    alice: Visitor, bob: Visitor, world: World
) -> None:
    page, text = await paid(alice, world)
    ticket = text.split('id="ticket">')[1].split("<")[0]
    answer = await bob.get(page)
    assert (answer.status, ticket in answer.text) == (200, False)
    for path in (f"{bob.root}/channels/new", f"{page}/cancel"):
        assert (await bob.submit(path, {**WISH, "once": ONCE})).status == 403
    coupon = {"coupon": "x", "once": ONCE}
    assert (await bob.submit(f"{bob.root}/credit", coupon)).status == 403


async def test_a_cancelled_order_says_what_went_to_credit(
    alice: Visitor, world: World
) -> None:
    page, text = await paid(alice, world)
    assert f"The price, {PRICE:,} sat, becomes credit" in text
    assert (await alice.submit(f"{page}/cancel")).location == page
    assert f"{PRICE:,} sat went to your credit" in (await alice.get(page)).text
    account = (await alice.get(f"{alice.root}/credit")).text
    assert f'class="sum">{PRICE:,} sat' in account
    sheet = await alice.get(f"{alice.root}/credit/ledger.csv")
    first, *lines = sheet.text.splitlines()
    assert first.startswith("id,time,what")
    assert len(lines) >= 2
    # Credit covers the next one, so there is nothing to pay.
    other = await ordered(alice, once=ONCE.replace("7", "8"))
    await until(lambda: _text(alice, other), shows="Register your ticket")


async def test_an_order_on_account_comes_back_off_the_debt(
    alice: Visitor, world: World
) -> None:
    organization_id = alice.root.rpartition("/")[2]
    async with world.channels.database.transaction() as tx:
        await tx.corporate_accounts.set_limit(
            organization_id, Sats(PRICE), since=world.channels.clock()
        )
    page = await ordered(alice)
    text = await until(lambda: _text(alice, page), shows="Register your ticket")
    assert f"{PRICE:,} sat, reduces what you owe" in text


async def _text(visitor: Visitor, page: str) -> str:
    return (await visitor.get(page)).text


async def test_what_is_wrong_is_said_and_nothing_is_lost(alice: Visitor) -> None:
    for changes in (
        {"capacity": "12345"},
        {"capacity": "many"},
        {"lease": "1"},
        {"tier": "worst"},
        {"premium": "-3"},
        {"premium": "0.005"},
        {"once": "again"},
    ):
        shown = await alice.submit(
            f"{alice.root}/channels/new", {**WISH, "once": ONCE, **changes}
        )
        assert (shown.status, 'role="alert"' in shown.text) == (400, True), changes
    assert "<option value=" in shown.text


async def test_a_coupon_is_redeemed_once_and_its_note_is_text(
    alice: Visitor, charlie: Visitor, world: World
) -> None:
    coupon = await world.coupon(21_000, alice.organization_id)
    sent = {"coupon": coupon, "once": ONCE}
    foreign = await charlie.submit(f"{charlie.root}/credit", sent)
    assert (foreign.status, "coupon does not exist" in foreign.text) == (404, True)
    for _ in range(2):  # a double click, or a repetition after a lost response
        done = await alice.submit(f"{alice.root}/credit", sent)
        assert done.status == 303
    other = {**sent, "once": ONCE.replace("7", "8")}
    assert (await alice.submit(f"{alice.root}/credit", other)).status == 404
    assert "21,000 sat" in (await alice.get(f"{alice.root}/credit")).text


async def test_each_transaction_has_its_sign_and_the_credit_after_it(
    alice: Visitor, world: World
) -> None:
    for number, sats in enumerate((21_000, 4_000)):
        coupon = await world.coupon(sats, alice.organization_id)
        sent = {"coupon": coupon, "once": ONCE.replace("7", str(number))}
        await alice.get(f"{alice.root}/credit")
        assert (await alice.submit(f"{alice.root}/credit", sent)).status == 303

    async def rows(query: str = "") -> list[tuple[str, str]]:
        text = await _text(alice, f"{alice.root}/credit{query}")
        table = text.partition('aria-label="Transactions"')[2].partition("</table>")[0]
        cells = r'data-of="Amount"[^>]*>([^<]+).*?data-of="Credit"[^>]*>([^<]+)'
        return re.findall(cells, table, re.DOTALL)

    newest, oldest = ("+4,000 sat", "25,000 sat"), ("+21,000 sat", "21,000 sat")
    assert await rows() == [newest, oldest]
    (entry, _) = await credit.history(
        world.channels.database, alice.organization_id, limit=2
    )
    assert await rows(f"?before={entry.number}") == [oldest]


async def test_another_teams_orders_are_not_there(
    alice: Visitor, charlie: Visitor
) -> None:
    order_id = (await ordered(alice)).rpartition("/")[2]
    for root in (charlie.root, alice.root):
        page = f"{root}/channels/{order_id}"
        assert (await charlie.get(page)).status == 404
        assert (await charlie.get(f"{page}/changes")).status == 404
        assert (await charlie.submit(f"{page}/cancel")).status == 404
    for path in ("channels", "channels/new", "credit", "credit/ledger.csv"):
        assert (await charlie.get(f"{alice.root}/{path}")).status == 404
