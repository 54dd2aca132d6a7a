"""Which port a node gets for its peers, and for how long it has it."""

import contextlib
import random
from datetime import datetime, timedelta

import pytest

from leyden.domain.node_settings import NodeSettings
from leyden.domain.nodes import Action, DesiredState, Node
from leyden.domain.peer_ports import KEPT_FROM_OTHERS
from leyden.errors import Conflict, Malformed, Stale
from leyden.gateway.routes import Address, PeerPort
from leyden.services.nodes import peer_addresses, restoring
from leyden.values import replace
from tests.services.yard import HARBOUR, OTHER_SHORE, SETTINGS, Yard

LISTENING = {**SETTINGS, "listen": True}
SILENT = {**SETTINGS, "listen": False}


@pytest.fixture
async def yard(yard: Yard) -> Yard:
    """A fleet with three peer ports."""
    yard.offer_peer_ports("21000-21002")
    return yard


async def made(yard: Yard, name: str, organization_id: str = HARBOUR) -> Node:
    """Create a node and give it as it is stored."""
    return await yard.node(
        (await yard.create(name, organization_id=organization_id)).id
    )


async def left(yard: Yard) -> int:
    """Return the ports that are left for new nodes."""
    reader = yard.fleet.database.reader
    return await peer_addresses.left(reader, yard.fleet.rules, now=yard.now)


async def deleted(yard: Yard, node: Node) -> None:
    await yard.ask(await yard.node(node.id), Action.DELETE)


async def test_each_new_node_has_a_port_of_its_own_where_there_are_any(
    yard: Yard,
) -> None:
    nodes = [await made(yard, f"light {number}") for number in range(3)]
    assert {node.open_peer_port for node in nodes} == {21000, 21001, 21002}
    assert all(node.settings.listen for node in nodes)


async def test_without_ports_nodes_get_none(yard: Yard) -> None:
    yard.offer_peer_ports("")
    node = await made(yard, "pier")
    assert (node.open_peer_port, node.settings.listen) == (0, False)
    assert node.edition == 1  # its row is written once
    with pytest.raises(Malformed, match="listen: this platform gives nodes no peer"):
        await yard.create("quay", settings=LISTENING)
    with pytest.raises(Malformed, match="listen: this platform"):
        await yard.set(node, listen=True)


async def test_the_gateway_leads_peers_to_the_node_whoever_is_on_its_whitelist(
    yard: Yard,
) -> None:
    node = await yard.create("pier", settings={**LISTENING, "whitelist": []})
    await yard.work()
    node = await yard.node(node.id)
    assert yard.gateway.routes[node.id].peers == PeerPort(
        node.peer_port, Address(node.host, 18_735)
    )


async def test_an_older_node_listens_once_its_owner_turns_it_on(yard: Yard) -> None:
    yard.offer_peer_ports("")
    old = await yard.running()
    yard.offer_peer_ports("21000-21002")
    await yard.watch()
    await yard.work()
    assert yard.gateway.routes[old.id].peers is None
    changed = await yard.set(old, listen=True)
    await yard.work()
    node = await yard.node(old.id)
    assert node.open_peer_port in range(21000, 21003)
    assert changed.revision == old.revision + 1  # lnd reads it at its start
    assert yard.gateway.routes[old.id].peers is not None


async def test_a_port_is_kept_over_restarts_and_updates(yard: Yard) -> None:
    node = await yard.running(version="v0.20.1-beta")
    await yard.ask(node, Action.RESTART)
    await yard.work()
    await yard.ask(await yard.node(node.id), Action.STOP)
    await yard.work()
    await yard.later(days=60)
    await yard.ask(await yard.node(node.id), Action.START)
    await yard.work()
    assert (await yard.node(node.id)).open_peer_port == node.open_peer_port


async def test_a_node_that_stops_listening_takes_its_own_port_back(yard: Yard) -> None:
    node = await yard.running()
    await yard.set(node, listen=False)
    await yard.work()
    assert (await yard.node(node.id)).open_peer_port == 0
    assert yard.gateway.routes[node.id].peers is None
    assert yard.runtime.homes[node.id].peer_address == ""
    others = [await made(yard, name) for name in ("pier", "quay")]
    assert node.peer_port not in {each.peer_port for each in others}
    await yard.set(await yard.node(node.id), listen=True)
    assert (await yard.node(node.id)).open_peer_port == node.peer_port


async def test_when_all_are_in_use_nothing_is_created_and_nothing_changes(
    yard: Yard,
) -> None:
    for number in range(3):
        await yard.create(f"light {number}")
    words = "listen: all 3 peer ports of this platform are in use"
    with pytest.raises(Conflict, match=words):
        await yard.create("pier")
    silent = await yard.create("pier", settings=SILENT)
    with pytest.raises(Conflict, match=words):
        await yard.set(silent, listen=True)
    left = await yard.node(silent.id)
    assert (left.open_peer_port, left.settings.listen) == (0, False)


async def test_a_deleted_nodes_port_is_not_a_strangers_for_thirty_days(
    yard: Yard,
) -> None:
    nodes = [await made(yard, f"light {number}") for number in range(3)]
    await deleted(yard, nodes[1])
    assert await left(yard) == 0
    yard.now += KEPT_FROM_OTHERS - timedelta(seconds=1)
    with pytest.raises(Conflict, match="listen: all 3"):
        await yard.create("pier", organization_id=OTHER_SHORE)
    yard.now += timedelta(seconds=1)
    assert await left(yard) == 1
    taken = await made(yard, "pier", OTHER_SHORE)
    assert taken.peer_port == nodes[1].peer_port
    assert await left(yard) == 0
    before = await yard.node(nodes[1].id)
    assert (before.peer_port, before.wanted) == (0, DesiredState.DELETED)


async def restored(yard: Yard, node: Node) -> Node:
    return await restoring.restore(
        yard.fleet, HARBOUR, node.id, None, actor="test", now=yard.now
    )


async def test_a_restored_node_has_its_port_back(yard: Yard) -> None:
    node = await made(yard, "pier")
    await deleted(yard, node)
    assert (await yard.node(node.id)).open_peer_port == 0
    assert (await restored(yard, node)).open_peer_port == node.peer_port != 0


async def test_a_restored_node_comes_back_without_one_where_all_are_in_use(
    yard: Yard,
) -> None:
    node, *_ = [await made(yard, name) for name in ("pier", "quay", "mole")]
    await deleted(yard, node)
    assert (await made(yard, "dock")).peer_port == node.peer_port
    assert (await restored(yard, node)).open_peer_port == 0
    assert (await yard.node(node.id)).wanted is DesiredState.STOPPED


async def test_the_operator_is_told_before_all_are_in_use(yard: Yard) -> None:
    reader = yard.fleet.database.reader
    for ports, told in (
        ("", ""),
        ("21000-21010", ""),
        ("22000", "0 of 1 peer ports are left: add some to peer_ports"),
    ):
        yard.offer_peer_ports(ports)
        if ports:
            await yard.create(f"light {ports}")
        said = await peer_addresses.alarm(reader, yard.fleet.rules, now=yard.now)
        assert said.startswith(told)
        assert bool(said) is bool(told)


async def test_whoever_creates_and_deletes_all_the_time_uses_one_port(
    yard: Yard,
) -> None:
    for number in range(5):
        node = await made(yard, f"light {number}")
        await deleted(yard, node)
    others = [await made(yard, f"pier {n}", OTHER_SHORE) for n in range(2)]
    assert len({node.peer_port, *(each.peer_port for each in others)}) == 3


async def test_a_port_outside_the_range_is_kept_while_it_is_used(yard: Yard) -> None:
    node = await yard.running()
    yard.offer_peer_ports("22000")
    await yard.set(node, keysend=False)
    assert (await yard.node(node.id)).open_peer_port == node.open_peer_port
    await yard.set(await yard.node(node.id), listen=False)
    await yard.set(await yard.node(node.id), listen=True)
    assert (await yard.node(node.id)).open_peer_port == 22000


async def test_two_nodes_never_have_one_port(yard: Yard) -> None:
    """The database says so, whatever two processes saw a moment before."""
    one, other = await made(yard, "light"), await made(yard, "pier")
    thief = replace(other, peer_port=one.peer_port)
    with pytest.raises(Stale, match=f"peer port {one.peer_port} is taken"):
        async with yard.fleet.database.transaction() as tx:
            await tx.nodes.save(other, thief)
    until = yard.now - KEPT_FROM_OTHERS
    with pytest.raises(Stale, match="is in use"):
        async with yard.fleet.database.transaction() as tx:
            await tx.peer_ports.take_over(one.peer_port, HARBOUR, until=until)


async def test_a_port_that_was_just_released_is_not_taken_over_by_others(
    yard: Yard,
) -> None:
    """Nor by the same organization, where the node may want it back."""
    node = await yard.running()
    await yard.set(node, listen=False)
    until = yard.now - KEPT_FROM_OTHERS
    for organization_id in (HARBOUR, OTHER_SHORE):
        with pytest.raises(Stale, match="is in use"):
            async with yard.fleet.database.transaction() as tx:
                await tx.peer_ports.take_over(
                    node.peer_port, organization_id, until=until
                )


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_happens_ports_stay_apart(yard: Yard, seed: int) -> None:
    """A walk of two organizations over three ports, and what must hold at each step."""
    dice = random.Random(seed)  # noqa: S311  a test's dice
    teams = (HARBOUR, OTHER_SHORE)
    last_used: dict[int, tuple[str, datetime]] = {}  # by whom, until when, by port
    most = dict.fromkeys(teams, 0)
    for number in range(40):
        yard.now += timedelta(days=dice.choice((0, 1, 20)))
        every = await yard.fleet.database.reader.nodes.all_()
        alive = [each for each in every if each.wanted is not DesiredState.DELETED]
        for each in alive:
            if each.open_peer_port:
                last_used[each.open_peer_port] = each.organization_id, yard.now
        with contextlib.suppress(Conflict):
            match dice.choice(("create", "create", "delete", "turn")):
                case "create":
                    await yard.create(
                        f"light {number}", organization_id=dice.choice(teams)
                    )
                case "delete" if alive:
                    await deleted(yard, dice.choice(alive))
                case "turn" if alive:
                    node = dice.choice(alive)
                    await yard.set(node, listen=not node.settings.listen)
        after = await yard.fleet.database.reader.nodes.all_()
        open_ones = [each for each in after if each.open_peer_port]
        ports = [each.open_peer_port for each in open_ones]
        assert len(ports) == len(set(ports))
        for each in open_ones:
            team, until = last_used.get(
                each.open_peer_port, (each.organization_id, yard.now)
            )
            is_own = team == each.organization_id
            assert is_own or yard.now - until >= KEPT_FROM_OTHERS
        for team in teams:
            theirs = [each for each in after if each.organization_id == team]
            living = [e for e in theirs if e.wanted is not DesiredState.DELETED]
            most[team] = max(most[team], len(living))
            assert len([each for each in theirs if each.peer_port]) <= most[team]


async def test_among_many_ports_a_free_one_is_found(yard: Yard) -> None:
    yard.offer_peer_ports("22000-22399")
    node = await made(yard, "light")
    async with yard.fleet.database.transaction() as tx:
        for port in range(22000, 22399):
            copy = replace(
                node,
                id=f"{port}N",
                name=str(port),
                api_endpoint=str(port),
                slot=port,
                peer_port=port if port != node.peer_port else 22399,
            )
            assert await tx.nodes.add(copy)
    with pytest.raises(Conflict, match="listen: all 400"):
        await yard.create("pier")
    yard.offer_peer_ports("22000-22400")
    assert (await made(yard, "pier")).peer_port == 22400


async def test_lnd_is_told_to_listen_and_what_to_announce(yard: Yard) -> None:
    node = await yard.running()
    spec = yard.runtime.homes[node.id]
    assert spec.peer_address == f"198.51.100.1:{node.peer_port}"
    settings: NodeSettings = spec.settings
    assert settings.listen
    silent = await yard.running(name="pier", settings=SILENT)
    assert yard.runtime.homes[silent.id].peer_address == ""
