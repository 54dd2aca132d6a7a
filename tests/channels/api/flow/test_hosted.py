"""Channels for nodes of one's own here, by their ids alone."""

from pathlib import Path

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.rules.nodes import Node, NodeStatus
from leyden.values import replace
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import World, ordered, until
from tests.channels.api.flow.test_direct import KEY, OTHER
from tests.conftest import NOW
from tests.nodes.fleet_harness import SETTINGS, FleetHarness


@pytest.fixture(autouse=True)
def coins(world: World) -> None:
    world.seller.fill([3_000_000])
    world.seller.online.add(KEY)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return open_or_create(tmp_path / "authority", now=NOW)


async def hosted(
    alice: Caller, db: Database, sealer: Sealer, authority: Authority, **settings: bool
) -> Node:
    """Return a node of alice's organization."""
    fleet_harness = FleetHarness(db, sealer, authority)
    return await fleet_harness.create(
        organization_id=alice.organization_id, settings={**SETTINGS, **settings}
    )


@pytest.fixture
async def node(
    alice: Caller, db: Database, sealer: Sealer, authority: Authority
) -> Node:
    return await hosted(alice, db, sealer, authority)


async def learn(db: Database, node: Node, key: str) -> None:
    async with db.transaction() as tx:
        await tx.node_keys.keep(node.id, key)


async def test_its_key_is_known_once_lnd_wrote_it_down(
    alice: Caller, world: World, db: Database, node: Node
) -> None:
    """What passes by itself is no malformed request: the caller tries again."""
    wish = {"capacity": 1_000_000, "node_id": node.id}
    for status, wait, words in (
        (NodeStatus.WAITING_UNLOCK, None, "unlock its wallet"),
        (NodeStatus.STARTING, "10", "try again in 10 s"),
        (NodeStatus.RUNNING, "10", "try again in 10 s"),
    ):
        async with db.transaction() as tx:
            locked = await tx.nodes.lock(node.id)
            await tx.nodes.save(locked, replace(locked, status=status))
        for path in ("/flow/quote", "/flow/create"):
            answer = await alice.post(path, wish)
            assert (answer.status, answer.headers.get("retry-after")) == (409, wait)
            message = answer.json()["message"]
            assert message.startswith("node: we don't know this node's public key")
            assert words in message
    await learn(db, node, KEY)
    assert (await alice.post("/flow/quote", wish)).status == 200
    order = await ordered(alice, node_id=node.id)
    assert (order["node"], order["node_id"]) == (KEY, node.id)
    world.pay(order)
    await until(alice, order, "filled")


async def test_another_key_than_its_own_is_refused(
    alice: Caller, world: World, db: Database, node: Node
) -> None:
    """It would wait for a node that never comes, with the payment held."""
    await learn(db, node, KEY)
    wish = {"capacity": 1_000_000, "node_id": node.id}
    for path in ("/flow/quote", "/flow/create"):
        answer = await alice.post(path, {**wish, "node": OTHER})
        assert answer.status == 400
        assert answer.json()["message"] == (
            f"node: does not match node_id, whose public key is {KEY}; leave node out"
        )
        assert (await alice.post("/flow/quote", {**wish, "node": KEY})).status == 200
    assert world.seller.channels == {}


async def test_nobody_learns_the_key_of_somebody_elses_node(
    charlie: Caller, db: Database, node: Node
) -> None:
    await learn(db, node, KEY)
    wish = {"capacity": 1_000_000, "node_id": node.id, "node": OTHER}
    answer = await charlie.post("/flow/quote", wish)
    assert answer.status == 404
    assert KEY not in answer.body.decode()


async def test_its_settings_have_to_allow_zero_conf(
    alice: Caller, db: Database, sealer: Sealer, authority: Authority
) -> None:
    plain = await hosted(alice, db, sealer, authority)
    await learn(db, plain, KEY)
    wish = {"capacity": 1_000_000, "node_id": plain.id, "zero_conf": True}
    answer = await alice.post("/flow/create", wish)
    assert answer.status == 400
    assert answer.json()["message"] == (
        "zero_conf: set optionscidalias and zeroconf in this node's settings first"
    )


async def test_a_node_that_allows_zero_conf_gets_it(
    alice: Caller, world: World, db: Database, sealer: Sealer, authority: Authority
) -> None:
    able = await hosted(
        alice, db, sealer, authority, optionscidalias=True, zeroconf=True
    )
    await learn(db, able, KEY)
    order = await ordered(alice, node_id=able.id, zero_conf=True)
    world.pay(order)
    await until(alice, order, "filled")
    (opened,) = world.seller.opened_for(order["order_id"])
    assert opened.wanted.zero_conf
