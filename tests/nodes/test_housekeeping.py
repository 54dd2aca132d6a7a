"""What lnds leave in their folders, and what owners are told of it."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from leyden import errors
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.times import to_iso
from leyden.base.tasks.work import Work
from leyden.errors import NotFound
from leyden.nodes import backups, commands, housekeeping, restoring
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.fleet import EVERYTHING, HOUSEKEEPING
from leyden.nodes.housekeeping import Housekeeping, found_in_clear
from leyden.nodes.node_cache import NodeCache
from leyden.nodes.rows.node_drills import NodeDrill
from leyden.nodes.rules.nodes import Action, Node
from leyden.nodes.rules.observations import LndState
from leyden.values import replace
from tests.away import FailingDatabase
from tests.conftest import NOW
from tests.events.stored_events import stored_events as told_of
from tests.nodes.fleet_harness import CLAIM_FOR, SETTINGS, FleetHarness

BLOCKS = (
    "2026-03-01 12:00:00.000 [ERR] GRPH: out of order block: expecting height=9, "
    "got height=7"
)
WITH_WEBHOOK = {**SETTINGS, "webhook": "https://receiver.example/hook"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return open_or_create(tmp_path_factory.mktemp("authority"), now=NOW)


@pytest.fixture
async def fleet_harness(
    sqlite_db: Database, sealer: Sealer, authority: Authority
) -> AsyncIterator[FleetHarness]:
    fleet_harness = FleetHarness(sqlite_db, sealer, authority)
    await fleet_harness.found()
    yield fleet_harness
    await fleet_harness.watching.close()


@pytest.fixture
def housekeeper(fleet_harness: FleetHarness) -> Housekeeping:
    return Housekeeping(fleet_harness.fleet)


async def look(fleet_harness: FleetHarness, housekeeper: Housekeeping) -> None:
    """Look once, as the queue does; it comes back ten seconds later."""
    async with fleet_harness.fleet.database.transaction() as tx:
        await tx.tasks.put(HOUSEKEEPING, EVERYTHING, due=fleet_harness.now)
        claims = await tx.tasks.claim(
            HOUSEKEEPING,
            now=fleet_harness.now,
            until=fleet_harness.now + CLAIM_FOR,
            limit=1,
        )
    work = Work(fleet_harness.fleet.database, claims[0])
    await housekeeper.run(work)
    assert work.settled
    due = await fleet_harness.fleet.database.reader.tasks.next_due(
        HOUSEKEEPING, now=fleet_harness.now + timedelta(hours=1)
    )
    assert due == fleet_harness.now + timedelta(seconds=10)
    fleet_harness.now += timedelta(seconds=10)


async def node_events(fleet_harness: FleetHarness, node: Node) -> list[Any]:
    events = await fleet_harness.fleet.database.reader.subscription_deliveries.pending(
        node.id
    )
    return [json.loads(each.body) for each in events]


async def test_what_did_not_change_is_not_read_again(
    fleet_harness: FleetHarness,
) -> None:
    one, other = (
        await fleet_harness.running(),
        await fleet_harness.running(name="other light"),
    )
    node_cache, nodes = NodeCache(), fleet_harness.fleet.database.reader.nodes
    before = {node.id: node for node in await node_cache.nodes(nodes)}
    await fleet_harness.set(one, alias="another light")
    after = {node.id: node for node in await node_cache.nodes(nodes)}
    assert after[one.id].settings.alias == "another light"
    assert after[other.id] is before[other.id]
    await fleet_harness.ask(other, Action.DELETE)
    assert [node.id for node in await node_cache.nodes(nodes)] == [one.id]


@pytest.mark.parametrize("action", [None, Action.STOP, Action.DELETE], ids=str)
async def test_a_backup_of_channels_that_lnd_wrote_right_before_its_end_is_kept(
    fleet_harness: FleetHarness, action: Action | None
) -> None:
    node = await fleet_harness.running()
    fleet_harness.node_files.channel_backups[node.id] = b"one channel"
    if action is None:
        fleet_harness.runtime.end(node.id)
        await fleet_harness.settled()
    else:
        await fleet_harness.ask(node, action)
        await fleet_harness.work()
    backups = fleet_harness.fleet.database.reader.backups
    assert (await backups.latest_channels(node.id)).content == b"one channel"


async def test_a_backup_of_channels_that_cannot_be_read_keeps_no_end_from_being_heard(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    fleet_harness.node_files.unreadable.add(node.id)
    await fleet_harness.ask(node, Action.STOP)
    await fleet_harness.work()
    assert not (await fleet_harness.node(node.id)).has_process


async def test_a_backup_of_channels_that_was_read_early_is_not_the_latest(
    fleet_harness: FleetHarness,
) -> None:
    node, fleet = await fleet_harness.running(), fleet_harness.fleet
    fleet_harness.node_files.channel_backups[node.id] = b"two channels"
    await backups.copy_channels(fleet, node)
    await backups.copy_channels(fleet, node, b"one channel")
    latest = await fleet.database.reader.backups.latest_channels(node.id)
    assert latest.content == b"two channels"


async def test_each_backup_of_channels_is_kept(
    fleet_harness: FleetHarness, housekeeper: Housekeeping
) -> None:
    node = await fleet_harness.running()
    backups = fleet_harness.fleet.database.reader.backups
    await look(fleet_harness, housekeeper)
    with pytest.raises(NotFound):
        await backups.latest_channels(node.id)
    for content in (b"one channel", b"two channels"):
        fleet_harness.node_files.channel_backups[node.id] = content
        await look(fleet_harness, housekeeper)
        assert (await backups.latest_channels(node.id)).content == content
    await look(fleet_harness, housekeeper)
    taken = (await backups.latest_channels(node.id)).taken
    assert taken == fleet_harness.now - timedelta(seconds=20), (
        "the last look found it known"
    )


async def test_a_folder_that_cannot_be_read_holds_up_no_other_nodes_backup(
    fleet_harness: FleetHarness, housekeeper: Housekeeping
) -> None:
    nodes = [await fleet_harness.running(name=f"light {n}") for n in range(2)]
    reader, homes = fleet_harness.fleet.database.reader, fleet_harness.node_files
    for node in nodes:
        homes.channel_backups[node.id] = b"one channel"
    for bad, good in (nodes, nodes[::-1]):  # whichever is looked at first
        homes.unreadable = {bad.id}
        homes.channel_backups[good.id] += b", and one more"
        await look(fleet_harness, housekeeper)
        stored = await reader.backups.latest_channels(good.id)
        assert stored.content == homes.channel_backups[good.id]
    homes.unreadable.clear()
    await look(fleet_harness, housekeeper)
    stored = await reader.backups.latest_channels(bad.id)
    assert stored.content == homes.channel_backups[bad.id]


async def test_a_backup_that_could_not_be_stored_is_stored_at_the_next_look(
    fleet_harness: FleetHarness,
) -> None:
    """Homes tell of a backup once: who could not store it must not forget it."""
    node = await fleet_harness.running()
    busy: Any = FailingDatabase(fleet_harness.fleet.database)
    housekeeper = Housekeeping(replace(fleet_harness.fleet, database=busy))
    await look(fleet_harness, housekeeper)
    fleet_harness.node_files.channel_backups[node.id] = b"one channel"
    busy.error = errors.Stale()
    with pytest.raises(errors.Stale):
        await look(fleet_harness, housekeeper)
    busy.error = None
    fleet_harness.now += CLAIM_FOR  # of the look that failed
    await look(fleet_harness, housekeeper)
    stored = await fleet_harness.fleet.database.reader.backups.latest_channels(node.id)
    assert stored.content == b"one channel"


async def test_nothing_is_looked_for_where_no_lnd_runs(
    fleet_harness: FleetHarness, housekeeper: Housekeeping
) -> None:
    node = await fleet_harness.running()
    await fleet_harness.ask(node, Action.STOP)
    await fleet_harness.work()
    fleet_harness.node_files.channel_backups[node.id] = b"old"
    await look(fleet_harness, housekeeper)
    with pytest.raises(NotFound):
        await fleet_harness.fleet.database.reader.backups.latest_channels(node.id)


async def test_macaroons_are_removed_right_after_an_unlock_and_noted(
    fleet_harness: FleetHarness, housekeeper: Housekeeping
) -> None:
    node = await fleet_harness.running()
    await look(fleet_harness, housekeeper)
    fleet_harness.node_files.macaroons[node.id] = ("data/admin.macaroon",)
    await look(fleet_harness, housekeeper)
    assert fleet_harness.node_files.macaroons, (
        "no walk through the folder every ten seconds"
    )
    fleet_harness.runtime.say(node.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    await look(fleet_harness, housekeeper)
    assert not fleet_harness.node_files.macaroons
    (line,) = [
        each
        for each in await fleet_harness.fleet.database.reader.audit.latest()
        if each.action == "macaroons removed"
    ]
    assert (line.subject, line.detail) == (node.id, {"number": 1})
    owner = node.organization_id
    (found,) = await found_in_clear(fleet_harness.fleet, owner, node.id)
    assert (found.at, found.number) == (line.at, 1)
    with pytest.raises(NotFound):
        await found_in_clear(fleet_harness.fleet, "somebody else", node.id)
    fleet_harness.now += timedelta(days=31)
    assert await found_in_clear(fleet_harness.fleet, owner, node.id) == []


async def test_macaroons_that_come_later_are_found_within_ten_minutes(
    fleet_harness: FleetHarness, housekeeper: Housekeeping
) -> None:
    node = await fleet_harness.running()
    await look(fleet_harness, housekeeper)
    fleet_harness.node_files.macaroons[node.id] = ("data/admin.macaroon",)
    fleet_harness.now += timedelta(minutes=10)
    await look(fleet_harness, housekeeper)
    assert not fleet_harness.node_files.macaroons


async def test_a_clock_that_was_set_back_leaves_no_macaroon_lying_about(
    fleet_harness: FleetHarness, housekeeper: Housekeeping
) -> None:
    node = await fleet_harness.running()
    await look(fleet_harness, housekeeper)
    fleet_harness.node_files.macaroons[node.id] = ("data/admin.macaroon",)
    fleet_harness.now -= timedelta(days=3)
    await look(fleet_harness, housekeeper)
    assert not fleet_harness.node_files.macaroons


async def test_blocks_out_of_order_are_told_once_a_burst(
    fleet_harness: FleetHarness, housekeeper: Housekeeping
) -> None:
    node = await fleet_harness.running(settings=WITH_WEBHOOK)
    log = fleet_harness.node_files.complaints.setdefault(node.id, [])
    for _ in range(3):
        log += [BLOCKS] * 100
        await look(fleet_harness, housekeeper)
    (error,) = [
        each
        for each in await node_events(fleet_harness, node)
        if each["type"] == "error"
    ]
    assert error == {
        "type": "error",
        "details": {"type": "out_of_order_block", "log": BLOCKS},
        "api": node.api_endpoint,
    }


async def test_an_update_is_told_once_for_each_version(
    fleet_harness: FleetHarness,
) -> None:
    old = await fleet_harness.running(version="v0.20.1-beta", settings=WITH_WEBHOOK)
    new = await fleet_harness.running(name="pier", settings=WITH_WEBHOOK)
    for _ in range(2):
        await housekeeping.notify_of_updates(fleet_harness.fleet)
    (update,) = [
        each
        for each in await node_events(fleet_harness, old)
        if each["type"] == "update"
    ]
    assert update == {
        "type": "update",
        "details": {
            "update_available": "true",
            "lnd_version": "v0.20.2-beta",
            "service_version": "0.1.0",
        },
        "api": old.api_endpoint,
    }
    assert not [
        each
        for each in await node_events(fleet_harness, new)
        if each["type"] == "update"
    ]


async def test_one_stopped_for_each_real_stop_however_often_lnd_fails_to_start(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running(settings=WITH_WEBHOOK)
    fleet_harness.runtime.says = None  # from now on lnd ends before its first word
    for _ in range(6):
        fleet_harness.runtime.end(node.id)
        await fleet_harness.settled()
        await fleet_harness.later(minutes=5)
    assert len(fleet_harness.runtime.starts) == 7
    events = await fleet_harness.fleet.database.reader.subscription_deliveries.pending(
        node.id
    )
    statuses = [json.loads(each.body)["details"]["status"] for each in events]
    assert statuses == ["stopped"]


async def test_an_organization_is_told_of_its_nodes_without_a_webhook(
    fleet_harness: FleetHarness, housekeeper: Housekeeping
) -> None:
    node = await fleet_harness.running(version="v0.20.1-beta")
    for _ in range(2):
        await housekeeping.notify_of_updates(fleet_harness.fleet)
    fleet_harness.node_files.complaints[node.id] = [BLOCKS] * 100
    await look(fleet_harness, housekeeper)
    fleet_harness.node_files.complaints[node.id] += [BLOCKS] * 100
    await look(fleet_harness, housekeeper)
    await fleet_harness.set(
        node, alias="another light", webhook="https://secret.example/hook"
    )
    await fleet_harness.work()
    fleet_harness.runtime.say(node.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    await commands.update(
        fleet_harness.fleet,
        node.organization_id,
        node.id,
        None,
        actor="key:7",
        now=fleet_harness.now,
    )
    await fleet_harness.work()
    await fleet_harness.ask(await fleet_harness.node(node.id), Action.DELETE)
    await fleet_harness.work()
    found = await told_of(fleet_harness.fleet.database, node.organization_id)
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
    fleet_harness: FleetHarness, housekeeper: Housekeeping
) -> None:
    node = await fleet_harness.running()
    fleet_harness.runtime.say(node.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    owner, database = node.organization_id, fleet_harness.fleet.database

    async def an_hour_later() -> list[tuple[str, Any]]:
        fleet_harness.now += timedelta(hours=1)
        await look(fleet_harness, housekeeper)
        found = await told_of(database, owner)
        return [(kind, data) for kind, data in found if kind.startswith("backup.")]

    await look(fleet_harness, housekeeper)
    fleet_harness.now += timedelta(minutes=59)
    await look(fleet_harness, housekeeper)
    assert [
        kind for kind, _ in await told_of(database, owner) if "backup" in kind
    ] == []
    of = {"node_id": node.id, "name": node.name}
    missing = ("backup.missing", {**of, "kept": ""})
    assert await an_hour_later() == [missing]
    assert await an_hour_later() == [missing]
    fleet_harness.node_files.channel_backups[node.id] = b"one channel"
    assert await an_hour_later() == [missing]
    stored = (await database.reader.backups.latest_channels(node.id)).taken
    del fleet_harness.node_files.channel_backups[node.id]
    stale = ("backup.stale", {**of, "kept": to_iso(stored)})
    assert await an_hour_later() == [missing, stale]
    await fleet_harness.ask(node, Action.STOP)
    await fleet_harness.work()
    assert await an_hour_later() == [missing, stale]


async def test_an_owner_is_reminded_of_a_drill_once_in_ninety_days(
    fleet_harness: FleetHarness, housekeeper: Housekeeping
) -> None:
    node = await fleet_harness.running()
    database = fleet_harness.fleet.database
    async with database.transaction() as tx:
        before = await tx.nodes.lock(node.id)
        await tx.nodes.save(before, replace(before, has_wallet=True))

    async def after(days: int, housekeeper: Housekeeping = housekeeper) -> list[str]:
        fleet_harness.now += timedelta(days=days, minutes=1)
        await look(fleet_harness, housekeeper)
        found = await told_of(database, node.organization_id)
        return [
            str(data["drilled"]) for kind, data in found if kind == "backup.drill_due"
        ]

    assert await after(89) == []
    assert await after(1) == [""]
    assert await after(1) == [""]
    assert await after(1, Housekeeping(fleet_harness.fleet)) == [
        ""
    ]  # nor after a restart
    drill = NodeDrill(at=fleet_harness.now, message="", signature="")
    async with database.transaction() as tx:
        await tx.node_drills.keep(node.id, drill)
    then = to_iso(drill.at)
    assert await after(89) == [""]
    assert await after(1) == ["", then]
    assert await after(80) == ["", then]
    assert await after(11) == ["", then, then]


async def test_a_restored_node_is_told_of_as_such(fleet_harness: FleetHarness) -> None:
    node = await fleet_harness.running()
    owner, database = node.organization_id, fleet_harness.fleet.database
    await fleet_harness.ask(node, Action.DELETE)
    await fleet_harness.work()
    before = len(await told_of(database, owner))
    await restoring.restore(
        fleet_harness.fleet, owner, node.id, None, actor="test", now=fleet_harness.now
    )
    of = {"node_id": node.id, "name": node.name, "status": "stopped"}
    assert (await told_of(database, owner))[before:] == [("node.restored", of)]


async def test_the_public_key_is_learnt_once_lnd_has_written_it_down(
    fleet_harness: FleetHarness, housekeeper: Housekeeping
) -> None:
    node = await fleet_harness.running()
    keys = fleet_harness.fleet.database.reader.node_keys
    await look(fleet_harness, housekeeper)
    assert await keys.find(node.id) == ""
    fleet_harness.node_files.public_keys[node.id] = "02" + "ab" * 32
    fleet_harness.now += timedelta(minutes=10)
    await look(fleet_harness, housekeeper)
    assert await keys.find(node.id) == "02" + "ab" * 32
    # A wallet from another seed: it is another node.
    fleet_harness.node_files.public_keys[node.id] = "03" + "cd" * 32
    fleet_harness.now += timedelta(minutes=10)
    await look(fleet_harness, housekeeper)
    assert await keys.find(node.id) == "03" + "cd" * 32
