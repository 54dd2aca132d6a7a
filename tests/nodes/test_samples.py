"""Samples of nodes: taken by each process that serves pages, and honest about gaps."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from leyden.app.loops import fleet_queues
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.tasks.worker import Worker
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.fleet import EVERYTHING
from leyden.nodes.gateway.base import GatewayElsewhere, Traffic
from leyden.nodes.rules.nodes import Action, Node
from leyden.nodes.rules.samples import DAY, HOUR, MONTH, SAMPLE_INTERVAL, Sample
from leyden.nodes.runtimes.base import Usage
from leyden.nodes.samples import Samples
from leyden.values import replace
from tests.nodes.fleet_harness import FleetHarness


@pytest.fixture
async def harness(
    sqlite_db: Database, sealer: Sealer, authority: Authority
) -> AsyncIterator[FleetHarness]:
    made = FleetHarness(sqlite_db, sealer, authority)
    await made.found()
    yield made
    await made.watching.close()


@pytest.fixture
async def node(harness: FleetHarness) -> Node:
    return await harness.running()


async def taken(samples: Samples, harness: FleetHarness, *usages: Usage) -> None:
    """Take a sample of the only node for each usage."""
    (node,) = await harness.fleet.database.reader.nodes.all_()
    for usage in usages:
        harness.node_files.used[node.id] = usage
        await samples.take(harness.fleet)
        harness.now += SAMPLE_INTERVAL


async def test_what_is_not_known_is_not_0(harness: FleetHarness, node: Node) -> None:
    fleet = replace(harness.fleet, gateway=GatewayElsewhere())
    samples = Samples()
    harness.node_files.used[node.id] = Usage()
    await samples.take(fleet)
    (found,) = samples.of(node.id)
    assert found.at == harness.now
    assert (found.memory, found.cpu_cores) == (None, None)
    assert (found.bytes_in, found.bytes_out, found.height) == (None, None, 0)


async def test_what_was_measured_is_kept_as_it_was(
    harness: FleetHarness, node: Node
) -> None:
    samples = Samples()
    harness.gateway.counted[node.id] = Traffic(3, 5 << 50, 7)
    usage = Usage(memory=94_371_841, cpu_cores=0.25, height=812_345)
    await taken(samples, harness, usage)
    (found,) = samples.of(node.id)
    assert (found.memory, found.cpu_cores, found.height) == (94_371_841, 0.25, 812_345)
    assert (found.bytes_in, found.bytes_out) == (5 << 50, 7)


async def test_the_use_of_processors_is_the_growth_of_the_time_that_is_counted(
    harness: FleetHarness, node: Node
) -> None:
    samples = Samples()
    counted = (Usage(cpu_s=each) for each in (60.0, 75.0, 75.0))
    await taken(samples, harness, *counted)
    cores = [each.cpu_cores for each in samples.of(node.id)]
    assert cores == [None, 0.5, 0.0]
    latest = Usage(cpu_s=75.0)
    assert samples.cpu_cores(node.id, latest, now=harness.now) == 0.0
    later = harness.now + SAMPLE_INTERVAL + timedelta(seconds=1)
    assert samples.cpu_cores(node.id, latest, now=later) is None, "of a minute ago"
    assert samples.cpu_cores(node.id, Usage(cpu_cores=1.5), now=later) == 1.5
    assert samples.cpu_cores("another", latest, now=later) is None


async def test_of_an_lnd_that_was_replaced_no_growth_is_known(
    harness: FleetHarness, node: Node
) -> None:
    samples = Samples()
    await taken(samples, harness, Usage(cpu_s=1.0))
    await harness.ask(node, Action.RESTART)
    await harness.work()
    assert (await harness.node(node.id)).process not in {"", node.process}
    await taken(samples, harness, Usage(cpu_s=9.0))
    assert [each.cpu_cores for each in samples.of(node.id)] == [None, None]


async def test_an_hour_is_kept_and_nothing_of_nodes_that_do_not_run(
    harness: FleetHarness, node: Node
) -> None:
    samples = Samples()
    await taken(
        samples, harness, *(Usage(memory=each) for each in range(HOUR.count + 2))
    )
    stored = samples.of(node.id)
    assert [each.memory for each in stored] == [*range(2, HOUR.count + 2)]
    assert stored[-1].at - stored[0].at == timedelta(hours=1) - SAMPLE_INTERVAL
    await harness.ask(node, Action.STOP)
    await harness.work()
    await samples.take(harness.fleet)
    assert samples.of(node.id) == ()


async def test_a_day_and_a_month_are_stored_in_steps_of_their_own(
    harness: FleetHarness, node: Node
) -> None:
    """By whichever process comes first, from what it knows of the step."""
    reader = harness.fleet.database.reader
    harness.now = DAY.begin(harness.now)
    began = MONTH.begin(harness.now)
    first, second = Samples(), Samples()
    for minute in range(0, 61, 5):
        harness.node_files.used[node.id] = Usage(
            memory=1_000_000 * (minute + 1), cpu_cores=0.2 if minute % 10 else 0.1
        )
        harness.gateway.counted[node.id] = Traffic(3, 1000 * minute, 7)
        await first.take(harness.fleet)
        await second.take(harness.fleet)
        harness.now += timedelta(minutes=5)
    day = await reader.node_samples.of(node.id, DAY, now=harness.now)
    assert [each.at - day[0].at for each in day] == [
        timedelta(minutes=15 * number) for number in range(4)
    ]
    assert [each.memory for each in day] == [
        1_000_000 * (minute + 1) for minute in (15, 30, 45, 60)
    ]
    assert day[0].cpu_cores == 0.15
    assert (day[1].bytes_in, day[1].bytes_out) == (30_000, 7)
    (month,) = await reader.node_samples.of(node.id, MONTH, now=harness.now)
    assert month.at == began + timedelta(hours=1)


async def test_a_sample_takes_the_place_of_the_one_that_is_too_old(
    db: Database, sealer: Sealer, authority: Authority
) -> None:
    harness = FleetHarness(db, sealer, authority)
    await harness.found()
    node = await harness.create()
    began = DAY.begin(harness.now)
    async with db.transaction() as tx:
        for number in range(DAY.count + 2):
            sample = Sample(began + number * DAY.step, number, None, None, None, 0)
            await tx.node_samples.keep(node.id, DAY, sample)
            late = replace(sample, memory=None)
            await tx.node_samples.keep(node.id, DAY, late)  # another process
    now = began + (DAY.count + 1) * DAY.step
    found = await db.reader.node_samples.of(node.id, DAY, now=now)
    assert [each.memory for each in found] == [*range(2, DAY.count + 2)]
    assert len(await db.reader.node_samples.of(node.id, DAY, now=began)) == DAY.count
    later = now + timedelta(hours=23)
    left = await db.reader.node_samples.of(node.id, DAY, now=later)
    assert [each.memory for each in left] == [*range(94, DAY.count + 2)]
    async with db.transaction() as tx:
        await tx.node_samples.delete(node.id)
    assert await db.reader.node_samples.of(node.id, DAY, now=now) == []


async def test_of_a_node_whose_data_is_gone_no_samples_are_left(
    harness: FleetHarness, node: Node
) -> None:
    db = harness.fleet.database
    async with db.transaction() as tx:
        sample = Sample(DAY.begin(harness.now), 1, None, None, None, 0)
        await tx.node_samples.keep(node.id, DAY, sample)
    now = harness.now
    await harness.ask(node, Action.DELETE)
    await harness.work()
    assert await db.reader.node_samples.of(node.id, DAY, now=now) != []
    harness.now += timedelta(days=30)
    await harness.work()
    assert await db.reader.node_samples.of(node.id, DAY, now=now) == []


async def test_the_task_of_the_release_before_is_ended(harness: FleetHarness) -> None:
    db = harness.fleet.database
    async with db.transaction() as tx:
        await tx.tasks.put("samples", EVERYTHING, due=harness.now)
    queues = fleet_queues(harness.fleet, harness.watching)
    [left] = [each for each in queues if each.kind == "samples"]
    worker = Worker(db, [left], clock=lambda: harness.now)
    working = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(10):
            while await db.reader.tasks.next_due(
                "samples", now=harness.now + SAMPLE_INTERVAL
            ):
                await asyncio.sleep(0.002)
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def test_each_process_has_samples_of_its_own(
    harness: FleetHarness, node: Node
) -> None:
    """Nobody's page is empty because another process takes the samples."""
    processes = [Samples(), Samples()]
    following = [asyncio.create_task(each.follow(harness.fleet)) for each in processes]
    try:
        async with asyncio.timeout(10):
            while not all(each.of(node.id) for each in processes):
                await asyncio.sleep(0)
    finally:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
