"""Channels for a node that is named: ordered, followed, shown."""

import re

import pytest
from msgspec.structs import force_setattr

from leyden.base.platform import Platform
from leyden.base.rules.units import Sats
from leyden.channels.direct.base import Lsps
from leyden.channels.direct.rules.extensions import (
    SUFFIX,
    Extension,
    ExtensionStatus,
)
from leyden.channels.rules.sources import Source
from leyden.values import replace
from tests.base.pages.visitor import Visitor
from tests.channels.api.flow.conftest import World
from tests.channels.pages.test_channels import _text, ordered, until
from tests.fakes.lsp import LSP_KEY, FakeLsp, FakePayer
from tests.nodes.fleet_harness import FleetHarness

ANOTHER = "7b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e56"
KEY = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


@pytest.fixture
def platform(selling: Platform, world: World) -> Platform:
    world.seller.fill([3_000_000, 3_000_000])
    return selling


def pay(world: World) -> None:
    (request,) = world.payments.requests.values()
    world.payments.pay(request)


async def test_the_form_asks_for_which_node(alice: Visitor) -> None:
    text = (await alice.get(f"{alice.root}/channels/new?for=other&node={KEY}")).text
    assert '<label for="for">Node</label>' in text
    assert '<option value="other" class="unknown" selected>' in text
    assert KEY in text
    url = f"{alice.root}/channels/quote?for=other&node={KEY}&capacity=1000000"
    assert "18,999 sat" in (await alice.get(f"{url}&lease=2016")).text
    for wrong in ("", "abc", KEY[:-1], f"{KEY}@127.0.0.1:1"):
        shown = await alice.get(f"{url.replace(KEY, wrong)}&lease=2016")
        assert (shown.status, "Node: " in shown.text) == (200, True)


async def test_the_form_begins_with_an_own_node_whose_key_is_known(
    alice: Visitor, world: World, fleet_harness: FleetHarness
) -> None:
    """Tickets are the last choice, and a node without a key is asked for it."""
    locked = await fleet_harness.running(organization_id=alice.organization_id)
    ready = await fleet_harness.running(
        name="lantern", organization_id=alice.organization_id
    )
    async with world.channels.database.transaction() as tx:
        await tx.node_keys.keep(ready.id, KEY)
    text = (await alice.get(f"{alice.root}/channels/new")).text
    form = text.partition('<select id="for"')[2].partition("</select>")[0]
    assert f'<option value="{ready.id}" selected>lantern</option>' in form
    assert f'<option value="{locked.id}" class="unknown">' in form
    assert form.rindex("<option") == form.index('<option value="">Send me a ticket')
    assert "18,999 sat" in text
    page = await ordered(alice, **{"for": ready.id})
    assert "Inbound channel for lantern" in await _text(alice, page)
    listed = await _text(alice, f"{alice.root}/channels")
    assert ">lantern</a>" in listed
    assert "at most" in listed
    events = await _text(alice, f"{alice.root}/events?type=order.*")
    assert "The channel order for node &#34;lantern&#34; was placed." in events


async def test_a_channel_is_listed_with_its_peer_and_its_real_cost(
    alice: Visitor, world: World
) -> None:
    world.seller.online.add(KEY)
    page = await ordered(alice, **{"for": "other", "node": KEY})
    pay(world)
    text = await until(lambda: _text(alice, page), shows="Your channel is published")
    (cost,) = re.findall(r"<dt>Cost to you</dt><dd>([\d,]+ sat)</dd>", text)
    row = (await _text(alice, f"{alice.root}/channels")).partition("<tbody>")[2]
    for shown in (cost, f'title="{KEY}"', f'title="{world.seller.pubkey}"'):
        assert shown in row
    assert "at most" not in row


@pytest.mark.parametrize("claims", [True, False])
async def test_a_bought_channel_says_what_is_known_of_it(
    alice: Visitor, world: World, *, claims: bool
) -> None:
    lsp = FakeLsp(clock=world.channels.clock, claims=claims)
    payer = FakePayer(lsp)
    force_setattr(world.channels, "lsps", Lsps(("https://lsp",), lambda _url: lsp))
    force_setattr(world.channels, "payer", payer)
    sell_from(world, Source.LSPS1)
    page = await ordered(alice, **{"for": "other", "node": KEY})
    assert "until we have paid another LSP for your" in await _text(alice, page)
    payer.away = True
    pay(world)

    async def later() -> str:
        world.later(seconds=1)
        return await _text(alice, page)

    text = await until(later, shows="not bought your channel yet")
    assert f"lncli connect {LSP_KEY}@" in text
    payer.away = False
    if claims:
        await until(later, shows="Your channel is opening")
        while not lsp.chain:  # the page says so before the LSP was paid
            await later()
        payer.mine()
    said = (
        "Only your node can see whose channel it is"
        if claims
        else "could not get the channel from the LSP"
    )
    text = await until(later, shows=said)
    assert "your node rejected it" not in text


async def test_an_order_whose_purchase_is_unknown_offers_no_cancelling(
    alice: Visitor, world: World
) -> None:
    """The database was restored from before the purchase, and forgot it."""
    lsp = FakeLsp(clock=world.channels.clock)
    payer = FakePayer(lsp)
    force_setattr(world.channels, "lsps", Lsps(("https://lsp",), lambda _url: lsp))
    force_setattr(world.channels, "payer", payer)
    sell_from(world, Source.LSPS1)
    page = await ordered(alice, **{"for": "other", "node": KEY})
    payer.away = True
    pay(world)
    (request,) = world.payments.requests.values()
    assert await world.payments.settle(request)

    async def later() -> str:
        world.later(minutes=1)
        return await _text(alice, page)

    text = await until(later, shows="know whether we bought your channel")
    assert "its price becomes credit" in text
    assert "Cancel this order" not in text
    assert "lncli connect" not in text
    for page_ in (text, await _text(alice, f"{alice.root}/channels")):
        assert "Being checked" in page_
        assert "Node not connected" not in page_
        assert "Waiting for your node" not in page_
    assert (await alice.submit(f"{page}/cancel")).status == 409
    assert payer.sent == []


def sell_from(world: World, *sources: Source) -> None:
    rules = replace(world.channels.rules, sources=sources)
    force_setattr(world.channels, "rules", rules)


async def test_where_no_tickets_are_sold_the_form_begins_with_a_node(
    alice: Visitor, world: World
) -> None:
    sell_from(world, Source.OWN)
    text = (await alice.get(f"{alice.root}/channels/new")).text
    assert "Send me a ticket" not in text
    assert '<option value="other" class="unknown" selected>' in text
    url = f"{alice.root}/channels/quote?for=&capacity=1000000&lease=2016"
    assert "this platform sells no tickets" in (await alice.get(url)).text


async def test_where_no_direct_channels_are_sold_nobody_is_asked_for_a_node(
    alice: Visitor, world: World
) -> None:
    sell_from(world, Source.POOL)
    text = (await alice.get(f"{alice.root}/channels/new")).text
    assert '<label for="for">' not in text


async def test_a_channel_may_be_usable_at_once(alice: Visitor, world: World) -> None:
    world.seller.online.add(KEY)
    page = await ordered(alice, **{"for": "other", "node": KEY, "zero_conf": "1"})
    assert "usable before it confirms" in await _text(alice, page)
    pay(world)
    await until(lambda: _text(alice, page), shows="Your channel is published")
    (opened,) = world.seller.channels.values()
    assert opened.wanted.zero_conf


async def test_a_named_node_gets_its_channel(alice: Visitor, world: World) -> None:
    world.seller.online.add(KEY)
    page = await ordered(alice, **{"for": "other", "node": KEY, "announce": "1"})
    text = await _text(alice, page)
    assert "We hold your payment until your channel is published" in text
    pay(world)
    text = await until(lambda: _text(alice, page), shows="Your channel is published")
    (opened,) = world.seller.channels.values()
    assert opened.wanted.announce
    for shown in (opened.point, KEY, world.seller.pubkey, "Renew with a new channel"):
        assert shown in text
    link = f"channels/new?for=other&amp;node={KEY}&amp;capacity=1000000&amp;lease=2016"
    assert link in text
    renewed = link.replace("&amp;", "&").replace("1000000", "700000")
    text = (await alice.get(f"{alice.root}/{renewed.replace('2016', '4032')}")).text
    assert 'value="700,000"' in text
    assert '<option value="4032" selected>' in text


async def test_a_node_that_is_not_connected_is_told_how(
    alice: Visitor, world: World
) -> None:
    page = await ordered(alice, **{"for": "other", "node": KEY})
    pay(world)
    text = await until(lambda: _text(alice, page), shows="Your node is not connected")
    assert f"lncli connect {world.seller.pubkey}@seller.example:9735" in text
    assert "Cancel this order" in text
    assert "Ticket" not in text


async def test_an_opening_cannot_be_cancelled(alice: Visitor, world: World) -> None:
    world.seller.online.add(KEY)
    world.seller.freezes = True
    page = await ordered(alice, **{"for": "other", "node": KEY})
    pay(world)
    text = await until(
        lambda: _text(alice, page), shows="Your channel is opening.</strong>"
    )
    assert "Cancel this order" not in text


async def test_a_refusal_is_told(alice: Visitor, world: World) -> None:
    world.seller.online.add(KEY)
    world.seller.refuses = "too large"
    page = await ordered(alice, **{"for": "other", "node": KEY})
    pay(world)
    text = await until(
        lambda: _text(alice, page), shows="We could not open the channel"
    )
    assert "You have not paid yet" not in text
    assert "The payment was already returned, or is credit." in text


async def test_a_lease_is_extended_on_its_page(alice: Visitor, world: World) -> None:
    world.seller.online.add(KEY)
    page = await ordered(alice, **{"for": "other", "node": KEY})
    pay(world)
    await until(lambda: _text(alice, page), shows="Extend the lease")
    text = await _text(alice, page)
    assert '<option value="2016 6999">2 weeks for 6,999 sat</option>' in text
    (once,) = re.findall(r'name="once" value="([0-9a-f-]{36})"', text)
    for _ in range(2):  # it was typed once
        answer = await alice.submit(
            f"{page}/extend", {"blocks": "2016 6999", "once": once}
        )
        assert (answer.status, answer.location) == (303, page)
    text = await _text(alice, page)
    assert text.count("<dt>Extended</dt>") == 1
    assert "by 2,016 blocks for 6,999 sat" in text
    assert "block 5,032" in text
    for wrong, status in (
        ("", 400),
        ("2016", 400),
        ("x 6999", 400),
        ("9" * 5_000 + " 6999", 400),
        ("2016 " + "9" * 5_000, 400),
        ("7 6999", 400),
        ("2016 6998", 409),  # the price was another one when the page was made
    ):
        form = {"blocks": wrong, "once": ANOTHER}
        assert (await alice.submit(f"{page}/extend", form)).status == status, wrong


async def test_without_credit_its_page_has_an_invoice(
    alice: Visitor, world: World
) -> None:
    world.seller.online.add(KEY)
    page = await ordered(alice, **{"for": "other", "node": KEY})
    pay(world)
    text = await until(lambda: _text(alice, page), shows="Extend the lease")
    fee = re.findall(r'<option value="8064 (\d+)">', text)[0]
    (once,) = re.findall(r'name="once" value="([0-9a-f-]{36})"', text)
    form = {"blocks": f"8064 {fee}", "once": once}
    assert (await alice.submit(f"{page}/extend", form)).status == 303
    text = await _text(alice, page)
    assert f"Pay <strong>{int(fee):,} sat</strong> over Lightning" in text
    assert 'id="extension-invoice"' in text
    request = list(world.payments.requests.values())[-1]
    assert request.lightning_invoice in text
    world.payments.pay(request)
    await until(lambda: _text(alice, page), shows="by 8,064 blocks for")


async def test_what_its_node_ordered_is_not_its_owners_to_pay(
    alice: Visitor, world: World
) -> None:
    """Over LSPS7, where the node may be anybody's."""
    world.seller.online.add(KEY)
    page = await ordered(alice, **{"for": "other", "node": KEY})
    pay(world)
    await until(lambda: _text(alice, page), shows="Extend the lease")
    theirs = Extension(
        id=f"{ANOTHER}{SUFFIX}",
        order_id=page.rpartition("/")[2],
        status=ExtensionStatus.WAITING_PAYMENT,
        created=world.now[0],
        expires=world.now[0],
        blocks=1,
        ends=1,
        premium=Sats(100),
        service_fee=Sats(2_000),
        lightning_invoice="lnbcrt1theirs",
        peer=KEY,
    )
    async with world.channels.database.transaction() as tx:
        assert await tx.extensions.add(theirs)
    text = await _text(alice, page)
    assert "lnbcrt1theirs" not in text
    assert '<option value="2016 6999">2 weeks for 6,999 sat</option>' in text


async def test_it_is_chosen_on_its_page_that_a_lease_goes_on(
    alice: Visitor, world: World
) -> None:
    world.seller.online.add(KEY)
    page = await ordered(alice, **{"for": "other", "node": KEY})
    pay(world)
    await until(lambda: _text(alice, page), shows="Extend automatically")
    form = {"blocks": "4032", "max_fee": "12,000"}
    assert (await alice.submit(f"{page}/auto-extend", form)).status == 303
    shown = "by 4,032 blocks, for at most 12,000 sat"
    assert shown in await _text(alice, page)
    for wrong in ("", "0", "-1", "x", "9" * 20):
        answer = await alice.submit(
            f"{page}/auto-extend", {"blocks": "4032", "max_fee": wrong}
        )
        assert answer.status == 400, wrong
    assert (await alice.submit(f"{page}/auto-extend", {"stop": "1"})).status == 303
    assert shown not in await _text(alice, page)
