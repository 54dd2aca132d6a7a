"""What lnds leave in their folders, and what owners are told of it."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from leyden import errors
from leyden.certificates.authority import Authority, open_or_create
from leyden.domain.nodes import Action, Node
from leyden.domain.observations import State
from leyden.domain.times import to_iso
from leyden.errors import NotFound
from leyden.services.nodes import commands, housekeeping, restoring
from leyden.services.nodes.fleet import EVERYTHING, HOUSEKEEPING
from leyden.services.nodes.housekeeping import Housekeeping, found_in_clear
from leyden.services.nodes.node_cache import NodeCache
from leyden.storage.database import Database
from leyden.storage.node_drills import NodeDrill
from leyden.storage.secrets import Sealer
from leyden.tasks import Work
from leyden.values import replace
from tests.away import BusyDatabase
from tests.conftest import NOW
from tests.services.told import told as told_of
from tests.services.yard import CLAIM_FOR, SETTINGS, Yard

BLOCKS = (
    "2026-03-01 12:00:00.000 [ERR] GRPH: out of order block: expecting height=9, "
    "got height=7"
)
WITH_WEBHOOK = {**SETTINGS, "webhook": "https://receiver.example/hook"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return open_or_create(tmp_path_factory.mktemp("authority"), now=NOW)


@pytest.fixture
async def yard(
    sqlite_db: Database, sealer: Sealer, authority: Authority
) -> AsyncIterator[Yard]:
    yard = Yard(sqlite_db, sealer, authority)
    await yard.found()
    yield yard
    await yard.watching.close()


@pytest.fixture
def house(yard: Yard) -> Housekeeping:
    return Housekeeping(yard.fleet)


async def look(yard: Yard, house: Housekeeping) -> None:
    """Look once, as the queue does; it comes back ten seconds later."""
    async with yard.fleet.database.transaction() as tx:
        await tx.tasks.put(HOUSEKEEPING, EVERYTHING, due=yard.now)
        claims = await tx.tasks.claim(
            HOUSEKEEPING, now=yard.now, until=yard.now + CLAIM_FOR, most=1
        )
    work = Work(yard.fleet.database, claims[0])
    await house.look(work)
    assert work.settled
    due = await yard.fleet.database.reader.tasks.next_due(
        HOUSEKEEPING, now=yard.now + timedelta(hours=1)
    )
    assert due == yard.now + timedelta(seconds=10)
    yard.now += timedelta(seconds=10)


async def told(yard: Yard, node: Node) -> list[Any]:
    events = await yard.fleet.database.reader.webhooks.pending(node.id)
    return [json.loads(each.body) for each in events]


async def test_what_did_not_change_is_not_read_again(yard: Yard) -> None:
    one, other = await yard.running(), await yard.running(name="other light")
    node_cache, nodes = NodeCache(), yard.fleet.database.reader.nodes
    before = {node.id: node for node in await node_cache.nodes(nodes)}
    await yard.set(one, alias="another light")
    after = {node.id: node for node in await node_cache.nodes(nodes)}
    assert after[one.id].settings.alias == "another light"
    assert after[other.id] is before[other.id]
    await yard.ask(other, Action.DELETE)
    assert [node.id for node in await node_cache.nodes(nodes)] == [one.id]


async def test_each_backup_of_channels_is_kept(yard: Yard, house: Housekeeping) -> None:
    node = await yard.running()
    backups = yard.fleet.database.reader.backups
    await look(yard, house)
    with pytest.raises(NotFound):
        await backups.latest_channels(node.id)
    for content in (b"one channel", b"two channels"):
        yard.homes.channel_backups[node.id] = content
        await look(yard, house)
        assert (await backups.latest_channels(node.id)).content == content
    await look(yard, house)
    taken = (await backups.latest_channels(node.id)).taken
    assert taken == yard.now - timedelta(seconds=20), "the last look found it known"


async def test_a_backup_that_could_not_be_stored_is_stored_at_the_next_look(
    yard: Yard,
) -> None:
    """Homes tell of a backup once: who could not store it must not forget it."""
    node = await yard.running()
    busy = BusyDatabase(yard.fleet.database)
    house = Housekeeping(replace(yard.fleet, database=busy))
    await look(yard, house)
    yard.homes.channel_backups[node.id] = b"one channel"
    busy.is_stale = True
    with pytest.raises(errors.Stale):
        await look(yard, house)
    busy.is_stale = False
    yard.now += CLAIM_FOR  # of the look that failed
    await look(yard, house)
    kept = await yard.fleet.database.reader.backups.latest_channels(node.id)
    assert kept.content == b"one channel"


async def test_nothing_is_looked_for_where_no_lnd_runs(
    yard: Yard, house: Housekeeping
) -> None:
    node = await yard.running()
    await yard.ask(node, Action.STOP)
    await yard.work()
    yard.homes.channel_backups[node.id] = b"old"
    await look(yard, house)
    with pytest.raises(NotFound):
        await yard.fleet.database.reader.backups.latest_channels(node.id)


async def test_macaroons_are_removed_right_after_an_unlock_and_noted(
    yard: Yard, house: Housekeeping
) -> None:
    node = await yard.running()
    await look(yard, house)
    yard.homes.macaroons[node.id] = ("data/admin.macaroon",)
    await look(yard, house)
    assert yard.homes.macaroons, "no walk through the folder every ten seconds"
    yard.runtime.say(node.id, State.SERVER_ACTIVE)
    await yard.settled()
    await look(yard, house)
    assert not yard.homes.macaroons
    (line,) = [
        each
        for each in await yard.fleet.database.reader.audit.latest()
        if each.action == "macaroons removed"
    ]
    assert (line.subject, line.detail) == (node.id, {"number": 1})
    owner = node.organization_id
    (found,) = await found_in_clear(yard.fleet, owner, node.id)
    assert (found.at, found.number) == (line.at, 1)
    with pytest.raises(NotFound):
        await found_in_clear(yard.fleet, "somebody else", node.id)
    yard.now += timedelta(days=31)
    assert await found_in_clear(yard.fleet, owner, node.id) == []


async def test_macaroons_that_come_later_are_found_within_ten_minutes(
    yard: Yard, house: Housekeeping
) -> None:
    node = await yard.running()
    await look(yard, house)
    yard.homes.macaroons[node.id] = ("data/admin.macaroon",)
    yard.now += timedelta(minutes=10)
    await look(yard, house)
    assert not yard.homes.macaroons


async def test_a_clock_that_was_set_back_leaves_no_macaroon_lying_about(
    yard: Yard, house: Housekeeping
) -> None:
    node = await yard.running()
    await look(yard, house)
    yard.homes.macaroons[node.id] = ("data/admin.macaroon",)
    yard.now -= timedelta(days=3)
    await look(yard, house)
    assert not yard.homes.macaroons


async def test_blocks_out_of_order_are_told_once_a_burst(
    yard: Yard, house: Housekeeping
) -> None:
    node = await yard.running(settings=WITH_WEBHOOK)
    log = yard.homes.complaints.setdefault(node.id, [])
    for _ in range(3):
        log += [BLOCKS] * 100
        await look(yard, house)
    (error,) = [each for each in await told(yard, node) if each["type"] == "error"]
    assert error == {
        "type": "error",
        "details": {"type": "out_of_order_block", "log": BLOCKS},
        "api": node.api_endpoint,
    }


async def test_an_update_is_told_once_for_each_version(yard: Yard) -> None:
    old = await yard.running(version="v0.20.1-beta", settings=WITH_WEBHOOK)
    new = await yard.running(name="pier", settings=WITH_WEBHOOK)
    for _ in range(2):
        await housekeeping.notify_of_updates(yard.fleet)
    (update,) = [each for each in await told(yard, old) if each["type"] == "update"]
    assert update == {
        "type": "update",
        "details": {
            "update_available": "true",
            "lnd_version": "v0.20.2-beta",
            "service_version": "0.1.0",
        },
        "api": old.api_endpoint,
    }
    assert not [each for each in await told(yard, new) if each["type"] == "update"]


async def test_one_stopped_for_each_real_stop_however_often_lnd_fails_to_start(
    yard: Yard,
) -> None:
    node = await yard.running(settings=WITH_WEBHOOK)
    yard.runtime.says = None  # from now on lnd ends before its first word
    for _ in range(6):
        yard.runtime.end(node.id)
        await yard.settled()
        await yard.later(minutes=5)
    assert len(yard.runtime.starts) == 7
    events = await yard.fleet.database.reader.webhooks.pending(node.id)
    statuses = [json.loads(each.body)["details"]["status"] for each in events]
    assert statuses == ["stopped"]


async def test_an_organization_is_told_of_its_nodes_without_a_webhook(
    yard: Yard, house: Housekeeping
) -> None:
    node = await yard.running(version="v0.20.1-beta")
    for _ in range(2):
        await housekeeping.notify_of_updates(yard.fleet)
    yard.homes.complaints[node.id] = [BLOCKS] * 100
    await look(yard, house)
    yard.homes.complaints[node.id] += [BLOCKS] * 100
    await look(yard, house)
    await yard.set(node, alias="another light", webhook="https://secret.example/hook")
    await yard.work()
    yard.runtime.say(node.id, State.SERVER_ACTIVE)
    await yard.settled()
    await commands.update(
        yard.fleet,
        node.organization_id,
        node.id,
        None,
        actor="key:7",
        now=yard.now,
    )
    await yard.work()
    await yard.ask(await yard.node(node.id), Action.DELETE)
    await yard.work()
    found = await told_of(yard.fleet.database, node.organization_id)
    assert [kind.removeprefix("node.") for kind, _ in found] == [
        "created",
        "update_available",
        "started",
        "waiting_init",
        "out_of_order_block",
        "settings_changed",
        "started",
        "waiting_init",
        "running",
        "updated",
        "started",
        "waiting_init",
        "deleted",
    ]
    assert {data["node_id"] for _, data in found} == {node.id}
    by_type = dict(found)
    assert by_type["node.settings_changed"]["settings"] == ["alias", "webhook"]
    assert by_type["node.updated"]["version"] == "v0.20.2-beta"
    assert "secret" not in str(found)


async def test_a_node_that_writes_no_backup_of_channels_is_told_of_once(
    yard: Yard, house: Housekeeping
) -> None:
    node = await yard.running()
    yard.runtime.say(node.id, State.SERVER_ACTIVE)
    await yard.settled()
    owner, database = node.organization_id, yard.fleet.database

    async def an_hour_later() -> list[tuple[str, Any]]:
        yard.now += timedelta(hours=1)
        await look(yard, house)
        found = await told_of(database, owner)
        return [(kind, data) for kind, data in found if kind.startswith("backup.")]

    await look(yard, house)
    yard.now += timedelta(minutes=59)
    await look(yard, house)
    assert [
        kind for kind, _ in await told_of(database, owner) if "backup" in kind
    ] == []
    of = {"node_id": node.id, "name": node.name}
    missing = ("backup.missing", {**of, "kept": ""})
    assert await an_hour_later() == [missing]
    assert await an_hour_later() == [missing]
    yard.homes.channel_backups[node.id] = b"one channel"
    assert await an_hour_later() == [missing]
    kept = (await database.reader.backups.latest_channels(node.id)).taken
    del yard.homes.channel_backups[node.id]
    stale = ("backup.stale", {**of, "kept": to_iso(kept)})
    assert await an_hour_later() == [missing, stale]
    await yard.ask(node, Action.STOP)
    await yard.work()
    assert await an_hour_later() == [missing, stale]


async def test_an_owner_is_reminded_of_a_drill_once_in_ninety_days(
    yard: Yard, house: Housekeeping
) -> None:
    node = await yard.running()
    database = yard.fleet.database
    async with database.transaction() as tx:
        before = await tx.nodes.lock(node.id)
        await tx.nodes.save(before, replace(before, has_wallet=True))

    async def after(days: int, house: Housekeeping = house) -> list[str]:
        yard.now += timedelta(days=days, minutes=1)
        await look(yard, house)
        found = await told_of(database, node.organization_id)
        return [
            str(data["drilled"]) for kind, data in found if kind == "backup.drill_due"
        ]

    assert await after(89) == []
    assert await after(1) == [""]
    assert await after(1) == [""]
    assert await after(1, Housekeeping(yard.fleet)) == [""]  # nor after a restart
    drill = NodeDrill(at=yard.now, message="", signature="")
    async with database.transaction() as tx:
        await tx.node_drills.keep(node.id, drill)
    then = to_iso(drill.at)
    assert await after(89) == [""]
    assert await after(1) == ["", then]
    assert await after(80) == ["", then]
    assert await after(11) == ["", then, then]


async def test_a_restored_node_is_told_of_as_such(yard: Yard) -> None:
    node = await yard.running()
    owner, database = node.organization_id, yard.fleet.database
    await yard.ask(node, Action.DELETE)
    await yard.work()
    before = len(await told_of(database, owner))
    await restoring.restore(
        yard.fleet, owner, node.id, None, actor="test", now=yard.now
    )
    of = {"node_id": node.id, "name": node.name, "status": "stopped"}
    assert (await told_of(database, owner))[before:] == [("node.restored", of)]


async def test_the_public_key_is_learnt_once_lnd_has_written_it_down(
    yard: Yard, house: Housekeeping
) -> None:
    node = await yard.running()
    keys = yard.fleet.database.reader.node_keys
    await look(yard, house)
    assert await keys.find(node.id) == ""
    yard.homes.public_keys[node.id] = "02" + "ab" * 32
    yard.now += timedelta(minutes=10)
    await look(yard, house)
    assert await keys.find(node.id) == "02" + "ab" * 32
    # A wallet from another seed: it is another node.
    yard.homes.public_keys[node.id] = "03" + "cd" * 32
    yard.now += timedelta(minutes=10)
    await look(yard, house)
    assert await keys.find(node.id) == "03" + "cd" * 32
