"""What operators look at: everybody's nodes, and the money of the shop."""

import pytest
from msgspec.structs import force_setattr

from leyden.base.pages.state_map import SIDE, patches
from leyden.base.platform import Platform
from leyden.base.rules.units import Sats
from leyden.channels.direct.base import Purse
from leyden.channels.direct.rules.jit import JitOrder, JitStatus
from leyden.channels.direct.rules.openings import Coin
from leyden.channels.rules.orders import OrderStatus
from leyden.channels.rules.payments import Outpoint
from leyden.channels.tickets.ticket_source import open_ticket
from leyden.people import accounts
from leyden.values import replace
from tests.alarms import check_alarms
from tests.base.pages.visitor import Visitor
from tests.channels.api.flow.conftest import World
from tests.channels.jit_harness import FEE, PEER, PURSE, SIZE
from tests.channels.pages.test_channels import ordered, until
from tests.channels.test_upkeep import FakeAuctionAccount
from tests.conftest import NOW
from tests.fakes.forwarding import FakeForwarding
from tests.fakes.messages import FakeMessages
from tests.fakes.seller import FakeSeller
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made


@pytest.fixture
def account() -> FakeAuctionAccount:
    return FakeAuctionAccount()


@pytest.fixture
async def purse(world: World) -> FakeSeller:
    """A purse with one channel that was opened for nothing."""
    made = FakeSeller(pubkey=PURSE)
    made.fill([4_000_000, 3_000_000])
    order = JitOrder(
        id="16100000x1x1",
        purse=PURSE,
        peer=PEER,
        status=JitStatus.UNPAID,
        created=NOW,
        valid_until=NOW,
        size_msat=SIZE,
        fee_msat=FEE,
        capacity=Sats(300_000),
        held_at=NOW,
        coins=(Coin(sats=Sats(1_000_000), outpoint=Outpoint("ab" * 32, 0)),),
        channel_point=f"{'cd' * 32}:0",
        resumed_at=NOW,
    )
    async with world.channels.database.transaction() as tx:
        await tx.jit_orders.add(order)
    return made


@pytest.fixture
def platform(
    selling: Platform, world: World, account: FakeAuctionAccount, purse: FakeSeller
) -> Platform:
    purses = Purse(
        seller=purse, messages=FakeMessages(), forwarding=FakeForwarding(purse)
    )
    channels = replace(world.channels, account=account, purse=purses)
    return replace(selling, channels=channels)


@pytest.fixture
async def opal(alice: Visitor, platform: Platform) -> Visitor:
    """Alice, who runs the installation as well."""
    await accounts.set_operator(
        platform, "alice@example.org", operator=True, actor="test"
    )
    return alice


async def test_nodes_that_need_somebody_are_listed_with_whose_they_are(
    opal: Visitor, fleet_harness: FleetHarness
) -> None:
    shown = (await opal.get("/app/operator/nodes")).text
    assert "No nodes yet" in shown
    await made(opal, fleet_harness)
    shown = (await opal.get("/app/operator/nodes")).text
    assert "Waiting for wallet" in shown
    assert "nodes that crash" in shown
    assert "v0.20.1-beta</dt>" in shown

    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    async with fleet_harness.fleet.database.transaction() as tx:
        await tx.nodes.save(node, replace(node, crashes=3, edition=node.edition + 1))
    shown = (await opal.get("/app/operator/nodes")).text
    assert node.id in shown
    assert ">Harbour Light</a>" in shown


async def test_the_money_of_the_shop_is_shown_and_what_is_away_hides_nothing(
    opal: Visitor, world: World, account: FakeAuctionAccount
) -> None:
    await ordered(opal)
    (request,) = world.payments.requests.values()
    world.payments.send(request.onchain_address, 4_321)
    world.payments.mine()
    world.payments.send(request.onchain_address, 1_234)
    shown = (await opal.get("/app/operator/money")).text
    for found in ("4,321 sat", "1,234 sat", "5,000,000 sat", "10,000 blocks"):
        assert found in shown
    world.payments.away = True
    shown = (await opal.get("/app/operator/money")).text
    assert ("4,321 sat" in shown, "5,000,000 sat" in shown) == (False, True)
    world.payments.away = False
    account.away = True
    shown = (await opal.get("/app/operator/money")).text
    assert ("4,321 sat" in shown, "5,000,000 sat" in shown) == (True, False)


async def test_just_in_time_channels_are_shown_with_the_purses_coins(
    opal: Visitor, platform: Platform, purse: FakeSeller
) -> None:
    shown = (await opal.get("/app/operator/money")).text
    for found in ("Just-in-time channels", "7,000,000 sat", "leyden jit --unpaid"):
        assert found in shown
    assert "1, with 300,000 sat" in shown
    purse.away = True
    shown = (await opal.get("/app/operator/money")).text
    assert ("7,000,000 sat" in shown, "1, with 300,000 sat" in shown) == (False, True)
    assert platform.channels is not None
    force_setattr(platform.channels, "purse", None)
    assert "Just-in-time" not in (await opal.get("/app/operator/money")).text


async def test_a_ticket_that_nobody_registered_is_outstanding(
    opal: Visitor, world: World
) -> None:
    order = (await ordered(opal)).rpartition("/")[2]
    assert order not in (await opal.get("/app/operator/money")).text
    (request,) = world.payments.requests.values()
    world.payments.pay(request)

    async def look() -> str:
        return (await opal.get("/app/operator/money")).text

    shown = await until(look, shows=order)
    assert "These tickets can cost up to 14,163 sat" in shown


def test_a_map_of_ten_thousand_is_no_larger_than_one_of_ten() -> None:
    few, many = patches({"running": 10}), patches({"running": 10_000})
    assert (few[0].width, few[0].height) == (10 * SIDE, SIDE)
    assert (many[0].count, many[0].height) == (10_000, 50 * SIDE)
    assert patches({"running": 41})[0].rest == SIDE
    assert patches({"failed": 0}) == []


async def test_an_order_whose_ticket_was_lost_asks_for_a_person(
    opal: Visitor, world: World, platform: Platform
) -> None:
    page = await ordered(opal)
    (request,) = world.payments.requests.values()
    world.payments.pay(request)

    async def look() -> str:
        return (await opal.get(page)).text

    await until(look, shows="sidecar1")
    assert "No stuck orders" in (await opal.get("/app/operator/orders")).text
    world.market.forget(next(iter(await tickets(world))))
    shown = (await opal.get("/app/operator/orders")).text
    assert "the market lost the ticket" in shown
    assert request.order_id in shown
    text = f"order {request.order_id}: the market lost the ticket"
    assert "Nobody has checked" in (await opal.get("/app/operator")).text
    await check_alarms(platform)
    assert text in (await opal.get("/app/operator")).text
    world.market.away = True
    await check_alarms(platform)
    shown = (await opal.get("/app/operator")).text
    assert text in shown, "whether it is still missing is not known"


async def tickets(world: World) -> list[str]:
    orders = await world.channels.database.reader.orders.in_status(OrderStatus.CREATED)
    return [open_ticket(world.channels, each) for each in orders]


async def test_why_a_node_could_not_be_started_is_told_in_full(
    opal: Visitor, fleet_harness: FleetHarness
) -> None:
    fleet_harness.runtime.fails_after = "nothing"
    await made(opal, fleet_harness)
    shown = (await opal.get("/app/operator/nodes")).text
    assert "[Errno 28] no space left on device" in shown
