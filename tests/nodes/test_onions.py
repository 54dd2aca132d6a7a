"""Onion addresses of nodes: which Tor is told of, and when again."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from leyden.base.platform import Platform
from leyden.base.rules.alarms import AlarmKind
from leyden.base.settings import Settings
from leyden.base.tasks.work import Work
from leyden.nodes.fleet import EVERYTHING, ONIONS
from leyden.nodes.onions.onions import Onions, seed_purpose
from leyden.nodes.rules.nodes import Action, Node
from leyden.nodes.rules.onions import Onion
from leyden.operators.alarms import list_alarms
from leyden.values import replace
from tests.fakes.tor import FakeTor
from tests.nodes.fleet_harness import CLAIM_FOR, FleetHarness

STRANGER = Onion(seed=b"s" * 32, to="").host


@pytest.fixture
def tor() -> FakeTor:
    """A Tor that somebody else uses as well."""
    return FakeTor({STRANGER})


@pytest.fixture
async def fleet_harness(fleet_harness: FleetHarness, tor: FakeTor) -> FleetHarness:
    """A fleet with three peer ports, and a Tor."""
    fleet_harness.offer_peer_ports("21000-21002")
    fleet_harness.offer_onions(tor)
    return fleet_harness


def use(
    fleet_harness: FleetHarness, tor: FakeTor | None, target: str = "127.0.0.1"
) -> None:
    """Let the operator name a Tor, or none, and start anew."""
    rules = fleet_harness.fleet.rules
    ports = replace(rules.ports, tor_target=target if tor else "")
    fleet_harness.fleet = replace(
        fleet_harness.fleet, tor=tor, rules=replace(rules, ports=ports)
    )
    fleet_harness.begin_anew()


async def claimed(fleet_harness: FleetHarness) -> Work:
    async with fleet_harness.fleet.database.transaction() as tx:
        await tx.tasks.put(ONIONS, EVERYTHING, due=fleet_harness.now)
        (claim,) = await tx.tasks.claim(
            ONIONS, now=fleet_harness.now, until=fleet_harness.now + CLAIM_FOR, limit=1
        )
    return Work(fleet_harness.fleet.database, claim)


async def look(fleet_harness: FleetHarness, onions: Onions | None = None) -> None:
    """Look once, as the queue does; it comes back ten seconds later."""
    assert fleet_harness.fleet.tor is not None
    work = await claimed(fleet_harness)
    await (onions or Onions(fleet_harness.fleet, fleet_harness.fleet.tor)).run(work)
    assert work.settled
    due = await fleet_harness.fleet.database.reader.tasks.next_due(
        ONIONS, now=fleet_harness.now + timedelta(hours=1)
    )
    assert due == fleet_harness.now + timedelta(seconds=10)
    fleet_harness.now += timedelta(seconds=10)


async def made(fleet_harness: FleetHarness, name: str = "pier") -> Node:
    return await fleet_harness.node((await fleet_harness.create(name)).id)


def ours(tor: FakeTor) -> dict[str, str]:
    return {host: to for host, to in tor.services.items() if host != STRANGER}


async def test_a_node_has_its_onion_address_from_its_creation_on(
    fleet_harness: FleetHarness, tor: FakeTor
) -> None:
    node = await made(fleet_harness)
    address = fleet_harness.fleet.rules.onion_address(node.onion, node.open_peer_port)
    assert address == f"{node.onion}:9735"
    assert ours(tor) == {}, "no request waits for Tor"
    await look(fleet_harness)
    assert ours(tor) == {node.onion: f"127.0.0.1:{node.peer_port}"}
    await fleet_harness.work()
    spec = fleet_harness.runtime.homes[node.id]
    assert spec.announced == (f"198.51.100.1:{node.peer_port}", address)


async def test_the_key_is_sealed_in_the_database(fleet_harness: FleetHarness) -> None:
    node = await made(fleet_harness)
    sealed = await fleet_harness.fleet.database.reader.node_onions.seed(node.id)
    seed = fleet_harness.fleet.sealer.open(sealed, purpose=seed_purpose(node.id))
    assert Onion(seed=seed, to="").host == node.onion
    assert seed not in sealed


async def test_a_tor_that_was_restarted_is_told_again(
    fleet_harness: FleetHarness, tor: FakeTor
) -> None:
    node = await made(fleet_harness)
    await look(fleet_harness)
    tor.restart()
    await look(fleet_harness)
    assert ours(tor) == {node.onion: f"127.0.0.1:{node.peer_port}"}
    assert (await fleet_harness.node(node.id)).onion == node.onion


async def test_killed_before_it_is_stored_the_service_is_made_once_more(
    fleet_harness: FleetHarness, tor: FakeTor, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = await made(fleet_harness)

    class Killed(BaseException):
        pass

    async def die(onion: Onion) -> None:
        tor.services[onion.host] = onion.to
        raise Killed

    monkeypatch.setattr(tor, "add", die)
    with pytest.raises(Killed):
        await look(fleet_harness)
    monkeypatch.undo()
    await fleet_harness.restart()
    await look(fleet_harness)
    assert tor.changes == [("remove", node.onion), ("add", node.onion)]
    assert ours(tor) == {node.onion: f"127.0.0.1:{node.peer_port}"}
    await look(fleet_harness)
    assert len(tor.changes) == 2


async def test_a_node_that_does_not_listen_has_none_and_gets_the_same_back(
    fleet_harness: FleetHarness, tor: FakeTor
) -> None:
    node = await made(fleet_harness)
    await look(fleet_harness)
    await fleet_harness.set(node, listen=False)
    silent = await fleet_harness.node(node.id)
    assert (
        fleet_harness.fleet.rules.onion_address(silent.onion, silent.open_peer_port)
        == ""
    )
    await look(fleet_harness)
    assert tor.services.keys() == {STRANGER}, "somebody else's stays"
    await fleet_harness.set(node, listen=True)
    await look(fleet_harness)
    assert ours(tor).keys() == {node.onion}


async def test_the_key_goes_with_the_nodes_data_and_the_service_too(
    fleet_harness: FleetHarness, tor: FakeTor
) -> None:
    """Also if Tor was away from the deletion until nothing was left."""
    node = await made(fleet_harness)
    await look(fleet_harness)
    tor.away = True
    await fleet_harness.ask(node, Action.DELETE)
    await fleet_harness.work()
    await fleet_harness.later(days=8)
    answer = await fleet_harness.fleet.database.reader.node_onions.targets()
    assert answer == {}
    tor.away = False
    await look(fleet_harness)
    assert tor.services.keys() == {STRANGER}


async def test_older_nodes_get_one_once_there_is_a_tor(
    fleet_harness: FleetHarness, tor: FakeTor
) -> None:
    use(fleet_harness, None)
    node = await made(fleet_harness)
    assert node.onion == ""
    use(fleet_harness, tor)
    await look(fleet_harness)
    node = await fleet_harness.node(node.id)
    assert ours(tor) == {node.onion: f"127.0.0.1:{node.peer_port}"}
    await look(fleet_harness)
    assert (await fleet_harness.node(node.id)).onion == node.onion


async def test_without_tor_nothing_is_shown_or_announced(
    fleet_harness: FleetHarness,
) -> None:
    node = await made(fleet_harness)
    use(fleet_harness, None)
    assert (
        fleet_harness.fleet.rules.onion_address(node.onion, node.open_peer_port) == ""
    )
    await fleet_harness.work()
    spec = fleet_harness.runtime.homes[node.id]
    assert spec.announced == (f"198.51.100.1:{node.peer_port}",)


async def test_a_node_starts_without_tor_and_tor_is_told_later(
    fleet_harness: FleetHarness, tor: FakeTor, caplog: pytest.LogCaptureFixture
) -> None:
    tor.away = True
    onions = Onions(fleet_harness.fleet, tor)
    node = await fleet_harness.running()
    assert node.has_process
    assert node.onion
    with caplog.at_level(logging.INFO, logger="leyden.nodes.onions.onions"):
        for _ in range(3):
            await look(fleet_harness, onions)
        tor.away = False
        for _ in range(2):
            await look(fleet_harness, onions)
    said = [
        record.getMessage()
        for record in caplog.records
        if record.name == "leyden.nodes.onions.onions"
    ]
    assert said == [
        "onion addresses: waiting for Tor",
        f"node {node.id}: onion service created",
        "Tor is back",
    ]
    assert ours(tor).keys() == {node.onion}


async def test_an_alarm_says_what_keeps_peers_from_onion_addresses(
    fleet_harness: FleetHarness, tor: FakeTor, tmp_path: Path
) -> None:
    platform = Platform(
        settings=Settings(home=str(tmp_path)),
        database=fleet_harness.fleet.database,
        sealer=fleet_harness.fleet.sealer,
        clock=lambda: fleet_harness.now,
        fleet=fleet_harness.fleet,
    )

    async def said() -> list[str]:
        found = await list_alarms(platform, now=fleet_harness.now)
        return [each.what for each in found if each.kind is AlarmKind.TOR_AWAY]

    assert await said() == []
    tor.connected = False
    (what,) = await said()
    assert what.endswith("Tor is not connected to its network: see Tor's log")
    tor.away = True
    (what,) = await said()
    assert what == (
        "peers can't reach nodes over Tor: tor_control: 127.0.0.1:9051: "
        "nothing listens there"
    )
