"""What lnd's log says is told once: across looks, restarts of ours, and processes."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.tasks.work import Work
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.fleet import EVERYTHING, HOUSEKEEPING
from leyden.nodes.housekeeping import Housekeeping
from leyden.nodes.lnd import home
from leyden.nodes.lnd.chains import Chain, Neutrino
from leyden.nodes.rules.log_positions import END
from leyden.nodes.rules.nodes import Action, Network, Node
from leyden.nodes.runtimes.local.layout import Ground, Layout
from leyden.nodes.runtimes.local.local_node_files import LocalNodeFiles
from leyden.nodes.runtimes.local.placement import Placement
from leyden.values import replace
from tests.nodes.fleet_harness import CLAIM_FOR, SETTINGS, FleetHarness

INFO = "2026-03-01 12:00:00.123 [INF] CRTR: Pruning channel graph using block 812\n"
WITH_WEBHOOK = {**SETTINGS, "webhook": "https://receiver.example/hook"}


def line(height: int) -> str:
    return (
        "2026-03-01 12:00:00.000 [ERR] GRPH: out of order block: "
        f"expecting height={height}, got height=7"
    )


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    ground = Ground(chain=Chain.SIMNET, backend=Neutrino())
    return Layout(
        root=tmp_path / "nodes",
        placement=Placement(network=IPv4Network("127.77.0.0/16")),
        grounds={Network.TESTNET: ground},
    )


@pytest.fixture
async def fleet_harness(
    db: Database, sealer: Sealer, authority: Authority, layout: Layout
) -> AsyncIterator[FleetHarness]:
    """Nodes whose folders are real; what runs in them is not."""
    fleet_harness = FleetHarness(db, sealer, authority)
    fleet_harness.fleet = replace(
        fleet_harness.fleet, node_files=LocalNodeFiles(layout)
    )
    fleet_harness.begin_anew()
    await fleet_harness.found()
    yield fleet_harness
    await fleet_harness.watching.close()


class LogReader:
    """Whoever looks after nodes, and may be killed and begin anew."""

    def __init__(self, fleet_harness: FleetHarness, layout: Layout) -> None:
        self._harness, self._layout = fleet_harness, layout
        self.begin_anew()

    def begin_anew(self) -> None:
        fleet = replace(self._harness.fleet, node_files=LocalNodeFiles(self._layout))
        self._keeping = Housekeeping(fleet)

    async def look(self) -> None:
        database = self._harness.fleet.database
        async with database.transaction() as tx:
            await tx.tasks.put(HOUSEKEEPING, EVERYTHING, due=self._harness.now)
            (claim,) = await tx.tasks.claim(
                HOUSEKEEPING,
                now=self._harness.now,
                until=self._harness.now + CLAIM_FOR,
                limit=1,
            )
        await self._keeping.run(Work(database, claim))
        self._harness.now += timedelta(seconds=10)


@pytest.fixture
def log_reader(fleet_harness: FleetHarness, layout: Layout) -> LogReader:
    return LogReader(fleet_harness, layout)


def log_of(layout: Layout, node: Node) -> Path:
    file = home.log_file(layout.home(node), Chain.SIMNET)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def add(log: Path, *lines: str) -> None:
    with log.open("a") as file:
        file.writelines(f"{each}\n" for each in lines)


async def read_lines(fleet_harness: FleetHarness, node: Node) -> list[str]:
    events = await fleet_harness.fleet.database.reader.subscription_deliveries.pending(
        node.id
    )
    bodies = [json.loads(each.body) for each in events]
    return [each["details"]["log"] for each in bodies if each["type"] == "error"]


async def node_with_log(
    fleet_harness: FleetHarness, layout: Layout
) -> tuple[Node, Path]:
    node = await fleet_harness.running(settings=WITH_WEBHOOK)
    return node, log_of(layout, node)


async def test_a_line_written_before_the_first_look_is_told(
    fleet_harness: FleetHarness, log_reader: LogReader, layout: Layout
) -> None:
    node, log = await node_with_log(fleet_harness, layout)
    add(log, INFO, line(9))
    await log_reader.look()
    assert await read_lines(fleet_harness, node) == [line(9)]


async def test_what_a_log_was_rotated_into_while_we_are_down_is_told(
    fleet_harness: FleetHarness, log_reader: LogReader, layout: Layout
) -> None:
    node, log = await node_with_log(fleet_harness, layout)
    add(log, INFO)
    await log_reader.look()
    add(log, line(9))
    old = log.rename(log.with_name("lnd.log.1"))
    Path(f"{old}.gz").write_bytes(gzip.compress(old.read_bytes()))
    old.unlink()  # the new log may get its inode
    add(log, *[INFO.replace("12:00", "12:01")] * 2)
    log_reader.begin_anew()
    await log_reader.look()
    assert await read_lines(fleet_harness, node) == [line(9)]
    fleet_harness.now += timedelta(minutes=30)
    log_reader.begin_anew()
    await log_reader.look()
    assert await read_lines(fleet_harness, node) == [line(9)]


async def test_whenever_it_is_broken_off_each_line_is_told_once(
    fleet_harness: FleetHarness, log_reader: LogReader, layout: Layout
) -> None:
    node, log = await node_with_log(fleet_harness, layout)
    add(log, INFO)
    await log_reader.look()
    lines, ended = [], False
    for exponent in range(20):
        fleet_harness.now += timedelta(
            minutes=11
        )  # another burst; and no claim of before holds
        lines.append(line(exponent))
        add(log, lines[-1])
        looking = asyncio.create_task(log_reader.look())
        for _ in range(1 << exponent):
            await asyncio.sleep(0)  # it comes a little further each time
        if ended := looking.done():
            break
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        log_reader.begin_anew()
        fleet_harness.now += timedelta(minutes=11)
        await log_reader.look()
        assert await read_lines(fleet_harness, node) == lines
    assert ended
    assert await read_lines(fleet_harness, node) == lines


async def test_two_who_read_one_log_tell_it_once(
    fleet_harness: FleetHarness, log_reader: LogReader, layout: Layout
) -> None:
    node, log = await node_with_log(fleet_harness, layout)
    add(log, INFO)
    other = LogReader(fleet_harness, layout)
    for each in (log_reader, other):
        await each.look()
    for height in (7, 8, 9):
        add(log, line(height))
        fleet_harness.now += timedelta(minutes=30)
        for each in (log_reader, other):
            await each.look()
        fleet_harness.now += timedelta(
            minutes=30
        )  # nothing but the position keeps them apart
        for each in (other, log_reader):
            await each.look()
    assert await read_lines(fleet_harness, node) == [
        line(height) for height in (7, 8, 9)
    ]


async def test_nodes_from_before_begin_at_the_end(
    fleet_harness: FleetHarness, log_reader: LogReader, layout: Layout
) -> None:
    node, log = await node_with_log(fleet_harness, layout)
    async with fleet_harness.fleet.database.transaction() as tx:
        assert await tx.log_positions.move(node.id, END, was=0)  # as the upgrade does
    add(log, line(8))
    await log_reader.look()
    assert await read_lines(fleet_harness, node) == []
    log_reader.begin_anew()
    add(log, line(9))
    await log_reader.look()
    assert await read_lines(fleet_harness, node) == [line(9)]


async def test_a_log_that_only_grows_is_written_down_now_and_then(
    fleet_harness: FleetHarness, log_reader: LogReader, layout: Layout
) -> None:
    node, log = await node_with_log(fleet_harness, layout)
    log_places = fleet_harness.fleet.database.reader.log_positions
    editions = []
    for _ in range(100):
        add(log, INFO * 20)
        await log_reader.look()
        stored = await log_places.find(node.id)
        assert stored is not None
        editions.append(stored.edition)
    assert editions[0] == 1, "whatever comes next is read on from there"
    assert editions[-1] == 1 + log.stat().st_size // (1 << 16)


async def test_nothing_is_kept_of_a_node_whose_data_is_removed(
    fleet_harness: FleetHarness, log_reader: LogReader, layout: Layout
) -> None:
    node, log = await node_with_log(fleet_harness, layout)
    add(log, INFO)
    await log_reader.look()
    await fleet_harness.ask(node, Action.DELETE)
    await fleet_harness.work()
    assert await fleet_harness.fleet.database.reader.log_positions.all_() != {}
    await fleet_harness.later(days=8)
    assert await fleet_harness.fleet.database.reader.log_positions.all_() == {}


async def test_its_owner_does_not_learn_where_the_node_lives(
    fleet_harness: FleetHarness, layout: Layout, tmp_path: Path
) -> None:
    node = await fleet_harness.create()
    backup = home.channel_backup(layout.home(node), Chain.SIMNET)
    add(
        log_of(layout, node),
        f"[INF] CHBU: Swapping old multi backup file from {backup} to {backup}",
        f"[INF] RPCS: read {layout.folder(node)}/claim and {tmp_path}/secrets.json",
    )
    lines = await fleet_harness.fleet.node_files.log(node, 100)
    own = "~/.lnd/data/chain/bitcoin/simnet/channel.backup"
    assert lines == [
        f"[INF] CHBU: Swapping old multi backup file from {own} to {own}",
        "[INF] RPCS: read ~/claim and ~/secrets.json",
    ]
