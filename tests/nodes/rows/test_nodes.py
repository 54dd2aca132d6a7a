from datetime import timedelta
from typing import Any

import msgspec
import pytest

from leyden.base.database.database import Database
from leyden.base.database.statements import Statement
from leyden.base.rules.accounts import Organization
from leyden.errors import NotFound, Stale, Violated
from leyden.nodes.rows.launch_specs import SealedLaunchSpec
from leyden.nodes.rules.node_moves import apply_command
from leyden.nodes.rules.nodes import (
    Action,
    Cause,
    DesiredState,
    Node,
    NodeListing,
    NodeStatus,
    PurchasedType,
    PurchaseStatus,
    RuntimeName,
    Trouble,
    Unknown,
)
from leyden.nodes.rules.versions import OFFERED
from leyden.values import fields, replace
from tests.nodes.rules.nodes import NOON, a_node, some_settings

OTHER = "1c6d4e2f-8b55-4d4a-8b1f-1d2a3c8e0f66N"


@pytest.fixture(autouse=True)
async def organization(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.accounts.add(
            Organization(id="harbour", name="Harbour Light", created=NOON)
        )


async def keep(db: Database, node: Node) -> bool:
    async with db.transaction() as tx:
        return await tx.nodes.add(node)


async def test_a_node_comes_back_as_it_was_kept(db: Database) -> None:
    node = a_node(
        settings=some_settings(alias="héhé ⚓", whitelist=("10.0.0.0/8", "::1")),
        expires=NOON + timedelta(days=30),
        launched_at=NOON,
        process="4711 88 lnd",
        launched_revision=1,
    )
    assert await keep(db, node)
    assert await db.reader.nodes.get(node.id) == node
    assert await db.reader.nodes.list_("harbour") == [NodeListing.of(node)]
    assert await db.reader.nodes.list_("another") == []


async def test_every_field_is_kept(db: Database) -> None:
    changed: dict[str, Any] = {
        "name": "second light",
        "version": OFFERED.versions[0],
        "settings": some_settings(alias="second light", listen=True),
        "status": NodeStatus.RUNNING,
        "wanted": DesiredState.STOPPED,
        "revision": 3,
        "process": "4711 88 lnd",
        "launched_revision": 2,
        "host": "127.0.0.7",
        "launched_at": NOON,
        "crashes": 4,
        "due": NOON + timedelta(minutes=1),
        "purchased_type": PurchasedType.TRIAL,
        "purchase_status": PurchaseStatus.PAST_DUE,
        "expires": NOON + timedelta(days=30),
        "has_wallet": True,
        "peer_port": 21_007,
        "peer_port_released": NOON,
        "onion": f"{'a' * 56}.onion",
        "runtime": RuntimeName.KUBERNETES,
        "moves_to": RuntimeName.LOCAL,
        "trouble": Trouble(
            cause=Cause.OUT_OF_MEMORY, reason="No memory.", why="OOMKilled", times=2
        ),
        "unknown": Unknown(since=NOON, why="machine-2 does not respond"),
    }
    fixed = ("id", "organization_id", "network", "type", "api_endpoint", "slot")
    known = {*changed, *fixed, "created", "edition"}
    assert known == {each.name for each in fields(Node)}, "`changed` needs each field"
    node = a_node()
    await keep(db, node)
    async with db.transaction() as tx:
        await tx.nodes.save(node, replace(node, **changed))
    after = replace(node, **changed, edition=2)
    assert all(getattr(after, name) != getattr(node, name) for name in changed)
    assert await db.reader.nodes.get(node.id) == after


async def test_settings_of_a_newer_version_stay_until_settings_change(
    db: Database,
) -> None:
    """A replica of the next version stores more settings than this one knows."""
    node = a_node()
    await keep(db, node)
    wrote = Statement("UPDATE node SET settings = :settings WHERE id = :id")
    read = Statement("SELECT settings FROM node WHERE id = :id")
    newer = {**msgspec.to_builtins(node.settings), "beacon": "on"}
    text = msgspec.json.encode(newer).decode()
    async with db.transaction() as tx:
        await tx.run(wrote, settings=text, id=node.id)
        await tx.nodes.save(node, replace(node, status=NodeStatus.STARTING))
        assert await tx.run(read, id=node.id) == [(text,)]


async def test_what_is_not_there_is_not_found(db: Database) -> None:
    assert await db.reader.nodes.find("no such node") is None
    with pytest.raises(NotFound):
        await db.reader.nodes.get("no such node")


@pytest.mark.parametrize(
    "clash",
    [
        {"id": a_node().id},
        {"name": "harbour light"},
        {"slot": 7},
        {"api_endpoint": a_node().api_endpoint},
    ],
)
async def test_ids_names_slots_and_endpoints_are_given_once(
    db: Database, clash: dict[str, Any]
) -> None:
    assert await keep(db, a_node())
    apart: dict[str, Any] = {
        "id": OTHER,
        "name": "pier",
        "slot": 8,
        "api_endpoint": "pier.localhost",
    }
    assert not await keep(db, a_node(**{**apart, **clash}))
    assert await keep(db, a_node(**apart))


async def test_a_name_is_free_again_after_its_node_was_deleted(db: Database) -> None:
    node = a_node()
    await keep(db, node)
    async with db.transaction() as tx:
        await tx.nodes.save(node, apply_command(node, Action.DELETE, now=NOON))
    assert await db.reader.nodes.find_by_name("harbour", node.name) is None
    assert await db.reader.nodes.list_("harbour") == []
    another = a_node(id=OTHER, slot=8, api_endpoint="another.localhost")
    assert await keep(db, another)
    assert await db.reader.nodes.find_by_name("harbour", node.name) == OTHER


async def test_who_holds_an_older_edition_is_stale(db: Database) -> None:
    node = a_node()
    await keep(db, node)
    async with db.transaction() as tx:
        await tx.nodes.save(node, replace(node, status=NodeStatus.STARTING))
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            await tx.nodes.save(node, replace(node, status=NodeStatus.FAILED))
    stored = await db.reader.nodes.get(node.id)
    assert (stored.status, stored.edition) == (NodeStatus.STARTING, 2)


async def test_the_database_itself_keeps_a_slot_for_what_lives(db: Database) -> None:
    node = a_node()
    await keep(db, node)
    with pytest.raises(Violated):
        async with db.transaction() as tx:
            await tx.nodes.vacate(node.id)
    async with db.transaction() as tx:
        await tx.nodes.save(node, apply_command(node, Action.DELETE, now=NOON))
        await tx.nodes.vacate(node.id)
    assert await db.reader.nodes.is_free(node.slot)
    assert await db.reader.nodes.all_() == []


async def test_a_deleted_node_is_in_sight_until_its_lnd_has_ended(
    db: Database,
) -> None:
    node = a_node(NodeStatus.RUNNING, process="4711 88 lnd", launched_revision=1)
    await keep(db, node)
    going = apply_command(node, Action.DELETE, now=NOON)
    async with db.transaction() as tx:
        await tx.nodes.save(node, going)
    (listed,) = await db.reader.nodes.list_("harbour")
    assert listed.status == "deleting"
    assert await db.reader.nodes.editions() == {}
    assert going.wanted is DesiredState.DELETED


async def test_the_last_hundred_commands_are_kept_newest_first(db: Database) -> None:
    node = a_node()
    await keep(db, node)
    async with db.transaction() as tx:
        for number in range(103):
            action = Action.START if number % 2 else Action.STOP
            at = NOON + timedelta(seconds=number)
            await tx.commands.add(node.id, action, at=at, actor="key:7")
    history = await db.reader.commands.list_(node.id)
    assert len(history) == 100
    assert history[0].at == NOON + timedelta(seconds=102)
    assert history[-1].at == NOON + timedelta(seconds=3)
    assert [each.action for each in history[:2]] == [Action.STOP, Action.START]


async def test_launch_specs_and_their_certificates(db: Database) -> None:
    node = a_node()
    await keep(db, node)
    launch_spec = SealedLaunchSpec(
        node_id=node.id,
        settings=b"sealed 1",
        webhook_secret=b"sealed 2",
        certificate=b"PEM",
        certificate_until=NOON + timedelta(days=365),
        key=b"sealed 3",
    )
    async with db.transaction() as tx:
        await tx.launch_specs.add(launch_spec)
    assert await db.reader.launch_specs.get(node.id) == launch_spec
    later = NOON + timedelta(days=500)
    async with db.transaction() as tx:
        await tx.launch_specs.set_settings(node.id, b"sealed 4")
        await tx.launch_specs.set_webhook_secret(node.id, b"sealed 5")
        await tx.launch_specs.set_certificate(
            node.id, chain=b"P", until=later, key=b"k"
        )
    assert await db.reader.launch_specs.get(node.id) == SealedLaunchSpec(
        node_id=node.id,
        settings=b"sealed 4",
        webhook_secret=b"sealed 5",
        certificate=b"P",
        certificate_until=later,
        key=b"k",
    )
    assert await db.reader.launch_specs.endings(before=later) == {}
    assert await db.reader.launch_specs.endings(before=later + timedelta(1)) == {
        node.id: later
    }


async def test_a_seed_is_kept_once_and_macaroons_once_by_name(db: Database) -> None:
    node = a_node()
    await keep(db, node)
    async with db.transaction() as tx:
        assert await tx.backups.add_seed(node.id, b"first", now=NOON)
        assert not await tx.backups.add_seed(node.id, b"second", now=NOON)
        assert await tx.backups.add_macaroon(node.id, "admin", b"a", now=NOON)
        assert not await tx.backups.add_macaroon(node.id, "admin", b"b", now=NOON)
        assert await tx.backups.add_macaroon(node.id, "read", b"c", now=NOON)
    assert await db.reader.backups.seed(node.id) == b"first"
    assert await db.reader.backups.macaroon(node.id, "admin") == b"a"
    names = [each.name for each in await db.reader.backups.macaroons(node.id)]
    assert names == ["admin", "read"]
    with pytest.raises(NotFound):
        await db.reader.backups.macaroon(node.id, "owner")
    with pytest.raises(NotFound):
        await db.reader.backups.seed(OTHER)


async def test_the_ten_latest_channel_backups_are_kept(db: Database) -> None:
    node = a_node()
    await keep(db, node)
    for number in range(12):
        async with db.transaction() as tx:
            content = b"multi backup %d" % number
            at = NOON + timedelta(seconds=number)
            assert await tx.backups.add_channels(node.id, content, content, now=at)
            assert not await tx.backups.add_channels(node.id, content, content, now=at)
    latest = await db.reader.backups.latest_channels(node.id)
    assert (latest.content, latest.taken) == (
        b"multi backup 11",
        NOON + timedelta(seconds=11),
    )
    async with db.transaction() as tx:
        content = b"multi backup 9"
        assert await tx.backups.add_channels(node.id, content, content, now=NOON)
    assert (await db.reader.backups.latest_channels(node.id)).content == content
    async with db.transaction() as tx:
        await tx.backups.delete(node.id)
    with pytest.raises(NotFound):
        await db.reader.backups.latest_channels(node.id)


async def test_many_nodes_are_listed_counted_and_found_by_part_of_a_name(
    db: Database,
) -> None:
    """More than are read at a time; some of them made in the same moment."""
    nodes = [
        a_node(
            id=f"00000000-0000-4000-8000-{number:012}N",
            name=f"Beacon_{number:03}" if number % 2 else f"beacon {number:03}",
            slot=100 + number,
            api_endpoint=f"{number}.localhost",
            created=NOON + timedelta(seconds=number // 3),
            status=NodeStatus.RUNNING if number % 3 else NodeStatus.STOPPED,
        )
        for number in range(300)
    ]
    async with db.transaction() as tx:
        for node in nodes:
            await tx.nodes.add(node)
    listed = [NodeListing.of(node) for node in nodes]
    read = db.reader.nodes
    assert await read.list_("harbour") == listed
    assert await read.page("harbour", skipped=290, limit=100) == listed[290:]
    assert await read.page("harbour", name="N_29", limit=9) == listed[291:300:2]
    assert await read.count("harbour", name="beacon") == 300
    assert await read.count("harbour", status="stopped", name="02") == 4
    assert await read.count("harbour", name="%") == 0
    assert await read.count("another") == 0
    before = await read.by_status("harbour")
    assert [each[:2] for each in before] == [("running", 200), ("stopped", 100)]
    async with db.transaction() as tx:
        node = await tx.nodes.lock(nodes[1].id)
        await tx.nodes.save(node, replace(node, crashes=1))
    after = await read.by_status("harbour")
    assert [each[:2] for each in after] == [("running", 200), ("stopped", 100)]
    assert after != before
    assert await read.taken("harbour", ["beacon 002", "pier"]) == {"beacon 002"}


async def test_operators_list_nodes_by_organization_status_and_runtime(
    db: Database,
) -> None:
    first = a_node()
    later = a_node(
        NodeStatus.STOPPED,
        id=OTHER,
        name="later",
        api_endpoint="later.nodes.localhost",
        slot=8,
        created=NOON + timedelta(days=1),
    )
    gone = a_node(
        id=f"2d{OTHER[2:]}",
        name="gone",
        api_endpoint="gone.nodes.localhost",
        slot=9,
        wanted=DesiredState.DELETED,
    )
    for node in (first, later, gone):
        assert await keep(db, node)

    async def listed(limit: int = 10, **filters: str) -> list[str]:
        found = await db.reader.counts.list_nodes(limit=limit, **filters)
        return [each.id for each in found]

    assert await listed() == [later.id, first.id]
    assert await listed(limit=1) == [later.id]
    assert await listed(status="stopped") == [later.id]
    assert await listed(runtime="local") == [later.id, first.id]
    assert await listed(runtime="kubernetes") == []
    assert await listed(organization_id="harbour") == [later.id, first.id]
    assert await listed(organization_id="another") == []
