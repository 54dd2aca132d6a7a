"""Which port a node gets for its peers, and for how long it has it."""

import contextlib
import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from leyden.base.platform import Platform
from leyden.base.rules.alarms import AlarmKind
from leyden.base.settings import Settings
from leyden.errors import Away, Conflict, Malformed, Stale
from leyden.nodes import peer_addresses, restoring
from leyden.nodes.gateway.routes import PeerPort, UpstreamAddress
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.nodes import Action, DesiredState, Node
from leyden.nodes.rules.peer_ports import KEPT_FROM_OTHERS
from leyden.operators.alarms import list_alarms
from leyden.values import replace
from tests.nodes.fleet_harness import HARBOUR, OTHER_SHORE, SETTINGS, FleetHarness

LISTENING = {**SETTINGS, "listen": True}
SILENT = {**SETTINGS, "listen": False}


@pytest.fixture
async def fleet_harness(fleet_harness: FleetHarness) -> FleetHarness:
    """A fleet with three peer ports."""
    fleet_harness.offer_peer_ports("21000-21002")
    return fleet_harness


async def made(
    fleet_harness: FleetHarness, name: str, organization_id: str = HARBOUR
) -> Node:
    """Create a node and give it as it is stored."""
    return await fleet_harness.node(
        (await fleet_harness.create(name, organization_id=organization_id)).id
    )


async def left(fleet_harness: FleetHarness) -> int:
    """Return the ports that are left for new nodes."""
    reader = fleet_harness.fleet.database.reader
    return await peer_addresses.left(
        reader, fleet_harness.fleet.rules, now=fleet_harness.now
    )


async def deleted(fleet_harness: FleetHarness, node: Node) -> None:
    await fleet_harness.ask(await fleet_harness.node(node.id), Action.DELETE)


async def test_each_new_node_has_a_port_of_its_own_where_there_are_any(
    fleet_harness: FleetHarness,
) -> None:
    nodes = [await made(fleet_harness, f"light {number}") for number in range(3)]
    assert {node.open_peer_port for node in nodes} == {21000, 21001, 21002}
    assert all(node.settings.listen for node in nodes)


async def test_without_ports_nodes_get_none(fleet_harness: FleetHarness) -> None:
    fleet_harness.offer_peer_ports("")
    node = await made(fleet_harness, "pier")
    assert (node.open_peer_port, node.settings.listen) == (0, False)
    assert node.edition == 1  # its row is written once
    with pytest.raises(
        Malformed, match="listen: must be false: this platform has no peer"
    ):
        await fleet_harness.create("quay", settings=LISTENING)
    with pytest.raises(Malformed, match="listen: must be false: this platform"):
        await fleet_harness.set(node, listen=True)


async def test_the_gateway_leads_peers_to_the_node_whoever_is_on_its_whitelist(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.create("pier", settings={**LISTENING, "whitelist": []})
    await fleet_harness.work()
    node = await fleet_harness.node(node.id)
    assert fleet_harness.gateway.routes[node.id].peers == PeerPort(
        node.peer_port, UpstreamAddress(node.host, 18_735)
    )


async def test_an_older_node_listens_once_its_owner_turns_it_on(
    fleet_harness: FleetHarness,
) -> None:
    fleet_harness.offer_peer_ports("")
    old = await fleet_harness.running()
    fleet_harness.offer_peer_ports("21000-21002")
    await fleet_harness.watch()
    await fleet_harness.work()
    assert fleet_harness.gateway.routes[old.id].peers is None
    changed = await fleet_harness.set(old, listen=True)
    await fleet_harness.work()
    node = await fleet_harness.node(old.id)
    assert node.open_peer_port in range(21000, 21003)
    assert changed.revision == old.revision + 1  # lnd reads it at its start
    assert fleet_harness.gateway.routes[old.id].peers is not None


async def test_a_node_that_stops_listening_takes_its_own_port_back(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    await fleet_harness.set(node, listen=False)
    await fleet_harness.work()
    assert (await fleet_harness.node(node.id)).open_peer_port == 0
    assert fleet_harness.gateway.routes[node.id].peers is None
    assert fleet_harness.runtime.homes[node.id].peer_address == ""
    others = [await made(fleet_harness, name) for name in ("pier", "quay")]
    assert node.peer_port not in {each.peer_port for each in others}
    await fleet_harness.set(await fleet_harness.node(node.id), listen=True)
    assert (await fleet_harness.node(node.id)).open_peer_port == node.peer_port


async def test_when_all_are_in_use_nothing_is_created_and_nothing_changes(
    fleet_harness: FleetHarness,
) -> None:
    for number in range(3):
        await fleet_harness.create(f"light {number}")
    words = "listen: all 3 peer ports of this platform are in use"
    with pytest.raises(Conflict, match=words):
        await fleet_harness.create("pier")
    silent = await fleet_harness.create("pier", settings=SILENT)
    with pytest.raises(Conflict, match=words):
        await fleet_harness.set(silent, listen=True)
    left = await fleet_harness.node(silent.id)
    assert (left.open_peer_port, left.settings.listen) == (0, False)


async def test_a_deleted_nodes_port_is_not_a_strangers_for_thirty_days(
    fleet_harness: FleetHarness,
) -> None:
    nodes = [await made(fleet_harness, f"light {number}") for number in range(3)]
    await deleted(fleet_harness, nodes[1])
    assert await left(fleet_harness) == 0
    fleet_harness.now += KEPT_FROM_OTHERS - timedelta(seconds=1)
    with pytest.raises(Conflict, match="listen: all 3"):
        await fleet_harness.create("pier", organization_id=OTHER_SHORE)
    fleet_harness.now += timedelta(seconds=1)
    assert await left(fleet_harness) == 1
    taken = await made(fleet_harness, "pier", OTHER_SHORE)
    assert taken.peer_port == nodes[1].peer_port
    assert await left(fleet_harness) == 0
    before = await fleet_harness.node(nodes[1].id)
    assert (before.peer_port, before.wanted) == (0, DesiredState.DELETED)


async def restored(fleet_harness: FleetHarness, node: Node) -> Node:
    return await restoring.restore(
        fleet_harness.fleet, HARBOUR, node.id, None, actor="test", now=fleet_harness.now
    )


async def test_a_restored_node_has_its_port_back(fleet_harness: FleetHarness) -> None:
    node = await made(fleet_harness, "pier")
    await deleted(fleet_harness, node)
    assert (await fleet_harness.node(node.id)).open_peer_port == 0
    assert (await restored(fleet_harness, node)).open_peer_port == node.peer_port != 0


async def test_a_restored_node_comes_back_without_one_where_all_are_in_use(
    fleet_harness: FleetHarness,
) -> None:
    node, *_ = [await made(fleet_harness, name) for name in ("pier", "quay", "mole")]
    await deleted(fleet_harness, node)
    assert (await made(fleet_harness, "dock")).peer_port == node.peer_port
    assert (await restored(fleet_harness, node)).open_peer_port == 0
    assert (await fleet_harness.node(node.id)).wanted is DesiredState.STOPPED


async def test_the_operator_is_told_before_all_are_in_use(
    fleet_harness: FleetHarness,
) -> None:
    reader = fleet_harness.fleet.database.reader
    for ports, answer in (
        ("", ""),
        ("21000-21010", ""),
        ("22000", "0 of 1 peer ports are left: add more to peer_ports"),
    ):
        fleet_harness.offer_peer_ports(ports)
        if ports:
            await fleet_harness.create(f"light {ports}")
        said = await peer_addresses.alarm(
            reader, fleet_harness.fleet.rules, now=fleet_harness.now
        )
        assert said.startswith(answer)
        assert bool(said) is bool(answer)


async def test_the_operator_is_told_which_nodes_port_another_program_has(
    fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    fleet = fleet_harness.fleet
    platform = Platform(
        settings=Settings(home=str(tmp_path)),
        database=fleet.database,
        sealer=fleet.sealer,
        clock=lambda: fleet_harness.now,
        fleet=fleet,
    )

    async def said() -> list[str]:
        found = await list_alarms(platform, now=fleet_harness.now)
        return [each.what for each in found if each.kind is AlarmKind.PEER_PORTS_TAKEN]

    first, second = sorted(
        [await made(fleet_harness, name) for name in ("light", "pier")],
        key=lambda node: node.id,
    )
    gateway = fleet_harness.gateway
    gateway.taken = {first.open_peer_port, second.open_peer_port}
    assert await said() == []  # nobody has failed to have it yet
    with pytest.raises(Away):
        await fleet_harness.work()
    text = f"another program has port {first.open_peer_port} of node {first.id}"
    end = ": peers can't connect until you stop that program"
    other = f"another program has port {second.open_peer_port} of node {second.id}"
    assert await said() == [f"{text}{end}", f"{other}{end}"]
    gateway.taken = {first.open_peer_port}
    assert await said() == [f"{text}{end}"]
    gateway.taken = set()
    assert await said() == []


async def test_a_port_outside_the_range_is_kept_while_it_is_used(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    fleet_harness.offer_peer_ports("22000")
    await fleet_harness.set(node, keysend=False)
    assert (await fleet_harness.node(node.id)).open_peer_port == node.open_peer_port
    await fleet_harness.set(await fleet_harness.node(node.id), listen=False)
    await fleet_harness.set(await fleet_harness.node(node.id), listen=True)
    assert (await fleet_harness.node(node.id)).open_peer_port == 22000


async def test_two_nodes_never_have_one_port(fleet_harness: FleetHarness) -> None:
    """The database says so, whatever two processes saw a moment before."""
    one, other = await made(fleet_harness, "light"), await made(fleet_harness, "pier")
    thief = replace(other, peer_port=one.peer_port)
    with pytest.raises(Stale, match=f"peer port {one.peer_port} is taken"):
        async with fleet_harness.fleet.database.transaction() as tx:
            await tx.nodes.save(other, thief)
    until = fleet_harness.now - KEPT_FROM_OTHERS
    with pytest.raises(Stale, match="is in use"):
        async with fleet_harness.fleet.database.transaction() as tx:
            await tx.peer_ports.take_over(one.peer_port, HARBOUR, until=until)


async def test_a_port_that_was_just_released_is_not_taken_over_by_others(
    fleet_harness: FleetHarness,
) -> None:
    """Nor by the same organization, where the node may want it back."""
    node = await fleet_harness.running()
    await fleet_harness.set(node, listen=False)
    until = fleet_harness.now - KEPT_FROM_OTHERS
    for organization_id in (HARBOUR, OTHER_SHORE):
        with pytest.raises(Stale, match="is in use"):
            async with fleet_harness.fleet.database.transaction() as tx:
                await tx.peer_ports.take_over(
                    node.peer_port, organization_id, until=until
                )


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_happens_ports_stay_apart(
    fleet_harness: FleetHarness, seed: int
) -> None:
    """A walk of two organizations over three ports, and what must hold at each step."""
    dice = random.Random(seed)  # noqa: S311  a test's dice
    teams = (HARBOUR, OTHER_SHORE)
    last_used: dict[int, tuple[str, datetime]] = {}  # by whom, until when, by port
    limit = dict.fromkeys(teams, 0)
    for number in range(40):
        fleet_harness.now += timedelta(days=dice.choice((0, 1, 20)))
        every = await fleet_harness.fleet.database.reader.nodes.all_()
        alive = [each for each in every if each.wanted is not DesiredState.DELETED]
        for each in alive:
            if each.open_peer_port:
                last_used[each.open_peer_port] = each.organization_id, fleet_harness.now
        with contextlib.suppress(Conflict):
            match dice.choice(("create", "create", "delete", "turn")):
                case "create":
                    await fleet_harness.create(
                        f"light {number}", organization_id=dice.choice(teams)
                    )
                case "delete" if alive:
                    await deleted(fleet_harness, dice.choice(alive))
                case "turn" if alive:
                    node = dice.choice(alive)
                    await fleet_harness.set(node, listen=not node.settings.listen)
        after = await fleet_harness.fleet.database.reader.nodes.all_()
        open_ones = [each for each in after if each.open_peer_port]
        ports = [each.open_peer_port for each in open_ones]
        assert len(ports) == len(set(ports))
        for each in open_ones:
            team, until = last_used.get(
                each.open_peer_port, (each.organization_id, fleet_harness.now)
            )
            is_own = team == each.organization_id
            assert is_own or fleet_harness.now - until >= KEPT_FROM_OTHERS
        for team in teams:
            theirs = [each for each in after if each.organization_id == team]
            living = [e for e in theirs if e.wanted is not DesiredState.DELETED]
            limit[team] = max(limit[team], len(living))
            assert len([each for each in theirs if each.peer_port]) <= limit[team]


async def test_among_many_ports_a_free_one_is_found(
    fleet_harness: FleetHarness,
) -> None:
    fleet_harness.offer_peer_ports("22000-22399")
    node = await made(fleet_harness, "light")
    async with fleet_harness.fleet.database.transaction() as tx:
        for port in range(22000, 22399):
            copy = replace(
                node,
                id=f"{port}N",
                name=str(port),
                api_endpoint=str(port),
                slot=65_000 + port,  # beyond every slot that the first may have
                peer_port=port if port != node.peer_port else 22399,
            )
            assert await tx.nodes.add(copy)
    with pytest.raises(Conflict, match="listen: all 400"):
        await fleet_harness.create("pier")
    fleet_harness.offer_peer_ports("22000-22400")
    assert (await made(fleet_harness, "pier")).peer_port == 22400


async def test_lnd_is_told_to_listen_and_what_to_announce(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    spec = fleet_harness.runtime.homes[node.id]
    assert spec.peer_address == f"198.51.100.1:{node.peer_port}"
    settings: NodeSettings = spec.settings
    assert settings.listen
    silent = await fleet_harness.running(name="pier", settings=SILENT)
    assert fleet_harness.runtime.homes[silent.id].peer_address == ""
