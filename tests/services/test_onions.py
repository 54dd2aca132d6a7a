"""Onion addresses of nodes: which Tor is told of, and when again."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from leyden.domain.alarms import Kind
from leyden.domain.nodes import Action, Node
from leyden.domain.onions import Onion
from leyden.errors import Lost
from leyden.services.nodes import restoring
from leyden.services.nodes.fleet import EVERYTHING
from leyden.services.nodes.onions import ONIONS, Onions, seed_purpose
from leyden.services.operators.alarms import list_alarms
from leyden.services.platform import Platform
from leyden.settings import Settings
from leyden.tasks import Work
from leyden.tor.fake import FakeTor
from leyden.values import replace
from tests.services.yard import CLAIM_FOR, HARBOUR, Yard

STRANGER = Onion(seed=b"s" * 32, to="").host


@pytest.fixture
def tor() -> FakeTor:
    """A Tor that somebody else uses as well."""
    return FakeTor({STRANGER})


@pytest.fixture
async def yard(yard: Yard, tor: FakeTor) -> Yard:
    """A fleet with three peer ports, and a Tor."""
    yard.offer_peer_ports("21000-21002")
    yard.offer_onions(tor)
    return yard


def use(yard: Yard, tor: FakeTor | None, target: str = "127.0.0.1") -> None:
    """Let the operator name a Tor, or none, and start anew."""
    rules = yard.fleet.rules
    ports = replace(rules.ports, tor_target=target if tor else "")
    yard.fleet = replace(yard.fleet, tor=tor, rules=replace(rules, ports=ports))
    yard.begin_anew()


async def claimed(yard: Yard) -> Work:
    async with yard.fleet.database.transaction() as tx:
        await tx.tasks.put(ONIONS, EVERYTHING, due=yard.now)
        (claim,) = await tx.tasks.claim(
            ONIONS, now=yard.now, until=yard.now + CLAIM_FOR, most=1
        )
    return Work(yard.fleet.database, claim)


async def look(yard: Yard, onions: Onions | None = None) -> None:
    """Look once, as the queue does; it comes back ten seconds later."""
    assert yard.fleet.tor is not None
    work = await claimed(yard)
    await (onions or Onions(yard.fleet, yard.fleet.tor)).look(work)
    assert work.settled
    due = await yard.fleet.database.reader.tasks.next_due(
        ONIONS, now=yard.now + timedelta(hours=1)
    )
    assert due == yard.now + timedelta(seconds=10)
    yard.now += timedelta(seconds=10)


async def made(yard: Yard, name: str = "pier") -> Node:
    return await yard.node((await yard.create(name)).id)


def ours(tor: FakeTor) -> dict[str, str]:
    return {host: to for host, to in tor.services.items() if host != STRANGER}


async def test_a_node_has_its_onion_address_from_its_creation_on(
    yard: Yard, tor: FakeTor
) -> None:
    node = await made(yard)
    address = yard.fleet.rules.onion_address(node.onion, node.open_peer_port)
    assert address == f"{node.onion}:9735"
    assert ours(tor) == {}, "no request waits for Tor"
    await look(yard)
    assert ours(tor) == {node.onion: f"127.0.0.1:{node.peer_port}"}
    await yard.work()
    spec = yard.runtime.homes[node.id]
    assert spec.announced == (f"198.51.100.1:{node.peer_port}", address)


async def test_the_key_is_sealed_in_the_database(yard: Yard) -> None:
    node = await made(yard)
    sealed = await yard.fleet.database.reader.node_onions.seed(node.id)
    seed = yard.fleet.sealer.open(sealed, purpose=seed_purpose(node.id))
    assert Onion(seed=seed, to="").host == node.onion
    assert seed not in sealed


async def test_tor_is_told_once(yard: Yard, tor: FakeTor) -> None:
    await made(yard)
    await look(yard)
    await yard.restart()
    for _ in range(2):
        await look(yard)
    assert len(tor.changes) == 1, "services outlive us"


async def test_a_tor_that_was_restarted_is_told_again(yard: Yard, tor: FakeTor) -> None:
    node = await made(yard)
    await look(yard)
    tor.restart()
    await look(yard)
    assert ours(tor) == {node.onion: f"127.0.0.1:{node.peer_port}"}
    assert (await yard.node(node.id)).onion == node.onion


async def test_killed_before_it_is_stored_the_service_is_made_once_more(
    yard: Yard, tor: FakeTor, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = await made(yard)

    class Killed(BaseException):
        pass

    async def die(onion: Onion) -> None:
        tor.services[onion.host] = onion.to
        raise Killed

    monkeypatch.setattr(tor, "add", die)
    with pytest.raises(Killed):
        await look(yard)
    monkeypatch.undo()
    await yard.restart()
    await look(yard)
    assert tor.changes == [("remove", node.onion), ("add", node.onion)]
    assert ours(tor) == {node.onion: f"127.0.0.1:{node.peer_port}"}
    await look(yard)
    assert len(tor.changes) == 2


async def test_a_node_that_does_not_listen_has_none_and_gets_the_same_back(
    yard: Yard, tor: FakeTor
) -> None:
    node = await made(yard)
    await look(yard)
    await yard.set(node, listen=False)
    silent = await yard.node(node.id)
    assert yard.fleet.rules.onion_address(silent.onion, silent.open_peer_port) == ""
    await look(yard)
    assert tor.services.keys() == {STRANGER}, "somebody else's stays"
    await yard.set(node, listen=True)
    await look(yard)
    assert ours(tor).keys() == {node.onion}


async def test_a_deleted_node_has_none_and_a_restored_one_the_same(
    yard: Yard, tor: FakeTor
) -> None:
    node = await made(yard)
    await look(yard)
    await yard.ask(node, Action.DELETE)
    await yard.work()
    await look(yard)
    assert ours(tor) == {}
    await restoring.restore(
        yard.fleet, HARBOUR, node.id, None, actor="key:7", now=yard.now
    )
    await look(yard)
    assert ours(tor).keys() == {node.onion}


async def test_the_key_goes_with_the_nodes_data_and_the_service_too(
    yard: Yard, tor: FakeTor
) -> None:
    """Also if Tor was away from the deletion until nothing was left."""
    node = await made(yard)
    await look(yard)
    tor.away = True
    await yard.ask(node, Action.DELETE)
    await yard.work()
    await yard.later(days=8)
    told = await yard.fleet.database.reader.node_onions.told()
    assert told == {}
    tor.away = False
    await look(yard)
    assert tor.services.keys() == {STRANGER}


async def test_older_nodes_get_one_once_there_is_a_tor(
    yard: Yard, tor: FakeTor
) -> None:
    use(yard, None)
    node = await made(yard)
    assert node.onion == ""
    use(yard, tor)
    await look(yard)
    node = await yard.node(node.id)
    assert ours(tor) == {node.onion: f"127.0.0.1:{node.peer_port}"}
    await look(yard)
    assert (await yard.node(node.id)).onion == node.onion


async def test_without_tor_nothing_is_shown_or_announced(yard: Yard) -> None:
    node = await made(yard)
    use(yard, None)
    assert yard.fleet.rules.onion_address(node.onion, node.open_peer_port) == ""
    await yard.work()
    spec = yard.runtime.homes[node.id]
    assert spec.announced == (f"198.51.100.1:{node.peer_port}",)


async def test_a_gateway_that_moved_is_where_tor_leads(
    yard: Yard, tor: FakeTor
) -> None:
    node = await made(yard)
    await look(yard)
    use(yard, tor, target="2001:db8::1")
    await look(yard)
    assert ours(tor) == {node.onion: f"[2001:db8::1]:{node.peer_port}"}


async def test_a_node_starts_without_tor_and_tor_is_told_later(
    yard: Yard, tor: FakeTor, caplog: pytest.LogCaptureFixture
) -> None:
    tor.away = True
    onions = Onions(yard.fleet, tor)
    node = await yard.running()
    assert node.has_process
    assert node.onion
    with caplog.at_level(logging.INFO, logger="leyden.services.nodes.onions"):
        for _ in range(3):
            await look(yard, onions)
        tor.away = False
        for _ in range(2):
            await look(yard, onions)
    said = [
        record.getMessage()
        for record in caplog.records
        if record.name == "leyden.services.nodes.onions"
    ]
    assert said == [
        "onion addresses wait for Tor",
        f"node {node.id}: onion service created",
        "Tor is back",
    ]
    assert ours(tor).keys() == {node.onion}


async def test_an_alarm_says_what_keeps_peers_from_onion_addresses(
    yard: Yard, tor: FakeTor, tmp_path: Path
) -> None:
    platform = Platform(
        settings=Settings(home=str(tmp_path)),
        database=yard.fleet.database,
        sealer=yard.fleet.sealer,
        clock=lambda: yard.now,
        fleet=yard.fleet,
    )

    async def said() -> list[str]:
        found = await list_alarms(platform, now=yard.now)
        return [each.what for each in found if each.kind is Kind.TOR_AWAY]

    assert await said() == []
    tor.connected = False
    (what,) = await said()
    assert what.endswith("Tor has no connection to its network: its own log says why")
    tor.away = True
    (what,) = await said()
    assert what == (
        "no peer reaches a node by its onion address: tor_control: 127.0.0.1:9051: "
        "nothing listens there"
    )


async def test_who_has_lost_the_task_stores_nothing(yard: Yard, tor: FakeTor) -> None:
    node = await made(yard)
    late = await claimed(yard)
    yard.now += CLAIM_FOR + timedelta(seconds=1)
    await look(yard)
    assert ours(tor).keys() == {node.onion}
    told = await yard.fleet.database.reader.node_onions.told()
    tor.restart()
    with pytest.raises(Lost):
        await Onions(yard.fleet, tor).look(late)
    assert await yard.fleet.database.reader.node_onions.told() == told
