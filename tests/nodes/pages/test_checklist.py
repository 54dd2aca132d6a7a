"""What a new organization does first: shown on its list of nodes until it is done."""

import re
import uuid
from html import unescape

import pytest

from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.nodes.rules.observations import LndState
from tests.base.pages.conftest import person
from tests.base.pages.visitor import Visitor
from tests.channels.api.flow.conftest import World
from tests.channels.pages.test_channels import ordered, until
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import filled, made


@pytest.fixture
def platform(selling: Platform) -> Platform:
    return selling


async def lines(visitor: Visitor) -> dict[str, str]:
    """Return the lines of the checklist: each name, with how it stands."""
    shown = (await visitor.get(f"{visitor.root}/nodes")).text
    found = re.findall(r'<li class="(\w+)">\s*<div><strong>([^<]+)</strong>', shown)
    return {unescape(name): state for state, name in found}


async def button(visitor: Visitor) -> str:
    """Return the one button of the checklist, with where it leads."""
    shown = (await visitor.get(f"{visitor.root}/nodes")).text
    listed = shown[shown.index('<details class="card checklist"') :]
    (found,) = re.findall(r'<a class="button" href="([^"]+)">([^<]+)<', listed)
    return " ".join(reversed(found))


async def fill(alice: Visitor, world: World, page: str) -> None:
    """Pay for the order, and let its channel come."""

    async def look() -> str:
        return (await alice.get(page)).text

    (request,) = world.payments.requests.values()
    world.payments.pay(request)
    created = await until(look, shows="state-created")
    (ticket,) = re.findall(r'id="ticket">([^<]+)<', created)
    for move, state in (
        (world.market.register, "state-submitted"),
        (world.market.match, "state-filled"),
    ):
        assert move(ticket)
        await world.follow_tickets()
        await until(look, shows=state)


async def test_each_step_is_ticked_once_it_is_done_and_then_all_are_gone(
    alice: Visitor, fleet_harness: FleetHarness, world: World
) -> None:
    root = alice.root
    assert list((await lines(alice)).values()) == ["now", *["ahead"] * 5]
    assert await button(alice) == f"Create node {root}/nodes/new"

    node = await made(alice, fleet_harness)
    assert await button(alice) == "Trust certificates /docs/trust"
    assert (
        f'href="{node}/wallet/initialise">Create wallet'
        in (await alice.get(f"{root}/nodes")).text
    )
    (stored,) = await fleet_harness.fleet.database.reader.nodes.all_()
    fleet_harness.runtime.say(stored.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    now = await lines(alice)
    assert [name for name, state in now.items() if state == "done"] == [
        "Create a node",
        "Trust the platform's certificates",
        "Create its wallet",
    ]
    assert await button(alice) == f"Order channel {root}/channels/new"

    order = await ordered(alice)
    assert await button(alice) == f"Order channel {root}/channels/new"
    await fill(alice, world, order)
    assert await button(alice) == f"Create key {root}/keys"

    key = {"name": "backend", "scope": "node", "once": str(uuid.uuid4())}
    assert (await alice.submit(f"{root}/keys", key)).status == 200
    assert await button(alice) == f"Add webhook endpoint {root}/events/endpoints"

    url = {"webhook": "https://hooks.example/"}
    assert (await alice.submit(f"{node}/webhook", url)).status == 303
    assert (await alice.submit(f"{node}/webhook/test")).status == 303
    assert await lines(alice) == {}


async def test_either_kind_of_endpoint_ticks_its_step(alice: Visitor) -> None:
    assert (await lines(alice))["Add a webhook endpoint"] == "ahead"
    endpoint = {"url": "https://hooks.example/", "which": "all", "description": ""}
    endpoint["once"] = str(uuid.uuid4())
    endpoints = f"{alice.root}/events/endpoints"
    assert (await alice.submit(endpoints, endpoint)).status == 200
    assert (await lines(alice))["Add a webhook endpoint"] == "done"


async def test_a_deleted_node_counts_no_more(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await made(alice, fleet_harness)
    await alice.submit(f"{node}/delete", {"name": "harbour light"})
    await fleet_harness.work()
    await fleet_harness.settled()
    assert (await lines(alice))["Create a node"] == "now"


async def test_a_role_sees_what_it_can_do(
    alice: Visitor, bob: Visitor, site: Site, platform: Platform
) -> None:
    of = alice.organization_id
    dora = await person(platform, site, "dora", of, Role.DEVELOPER)
    assert "Order a channel" not in await lines(dora)
    assert "Add a webhook endpoint" in await lines(dora)
    assert await lines(bob) == {}
    assert "No nodes yet" in (await bob.get(f"{bob.root}/nodes")).text


async def test_who_has_many_nodes_needs_no_first_steps(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    for position in range(9):
        wish = filled(f"beacon {position}", once=str(uuid.uuid4()))
        assert (await alice.submit(f"{alice.root}/nodes/new", wish)).status == 303
    await fleet_harness.work()
    assert await lines(alice) == {}
