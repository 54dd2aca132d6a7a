"""Each node is watched by one process; who has lost it writes nothing."""

import asyncio
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from typing import Any, Self

import pytest

from leyden.app.loops import fleet_queues
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.database.statements import Statement
from leyden.base.rules.times import utc_now
from leyden.base.tasks.work import Work
from leyden.base.tasks.worker import Worker
from leyden.errors import Lost, NodeAway
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.fleet import EVERYTHING, NODE, OF_THE_HOME, ROUTES, WATCH
from leyden.nodes.rows.homes import Home, Process
from leyden.nodes.rules.nodes import Action, NodeStatus, Unknown
from leyden.nodes.rules.observations import LndState
from leyden.nodes.watchers import RETIRED, Watching
from leyden.values import replace
from tests.conftest import NOW
from tests.nodes.fleet_harness import CLAIM_FOR, FleetHarness

OURS = Home(identity="home", authority="ours", place="here", host="harbour")
MINUTE = timedelta(minutes=1)


def process(name: str) -> Process:
    return Process(id=name, session="s", host="harbour", pid=7, beat=0, until=NOW)


@pytest.fixture
async def fleet_harness(
    db: Database, sealer: Sealer, authority: Authority
) -> FleetHarness:
    fleet_harness = FleetHarness(db, sealer, authority)
    await fleet_harness.found()
    async with db.transaction() as tx:
        await tx.homes.add(OURS)
        await tx.homes.enter(process("one"), delete_before=NOW)
    return fleet_harness


async def take_over(fleet_harness: FleetHarness) -> FleetHarness:
    """Let another process watch, as if the first had died long ago."""
    heir = FleetHarness.__new__(FleetHarness)
    vars(heir).update(vars(fleet_harness))
    heir.now = fleet_harness.now + 2 * CLAIM_FOR
    heir.begin_anew()
    fleet_harness.runtime.watch(fleet_harness.watching.enqueue)  # which still hears all
    await heir.watch()
    return heir


async def test_a_watcher_that_was_replaced_writes_nothing(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    assert node.status is NodeStatus.WAITING_INIT
    heir = await take_over(fleet_harness)
    fleet_harness.runtime.say(node.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    assert await fleet_harness.node(node.id) == node, "whoever lost it wrote nothing"
    async with fleet_harness.fleet.database.transaction() as tx:
        assert await tx.tasks.next_due(NODE, now=heir.now), "its holder is to look"
    await heir.work()
    assert (await fleet_harness.node(node.id)).status is NodeStatus.RUNNING


async def test_what_is_not_known_of_a_node_changes_nothing_and_is_tried_later(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    fleet_harness.runtime.say(node.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    node = await fleet_harness.node(node.id)
    fleet_harness.runtime.lose(node.id)
    await fleet_harness.restart()
    after = await fleet_harness.node(node.id)
    assert (after.status, after.process) == (node.status, node.process)
    assert after.unknown == Unknown(
        since=fleet_harness.now, why="its machine does not respond"
    )
    await fleet_harness.ask(node, Action.RESTART)
    with pytest.raises(NodeAway, match="unknown"):
        await fleet_harness.work()
    after = await fleet_harness.node(node.id)
    assert (after.status, after.process) == (NodeStatus.RESTARTING, node.process)
    assert fleet_harness.runtime.starts == [node.id], "no second lnd"


async def test_a_node_that_cannot_be_looked_at_keeps_no_other_from_being_heard(
    fleet_harness: FleetHarness,
) -> None:
    bad = await fleet_harness.running()
    good = await fleet_harness.running(name="storm lantern")
    fleet_harness.runtime.unreadable.add(bad.id)
    assert await fleet_harness.restart() == 1
    await fleet_harness.watching.check()
    for each in (bad, good):
        fleet_harness.runtime.say(each.id, LndState.LOCKED)
    await fleet_harness.settled()
    assert (await fleet_harness.node(good.id)).status is NodeStatus.WAITING_UNLOCK
    with pytest.raises(OSError, match="input/output"):
        await fleet_harness.work()  # it is tried again, as what fails is
    fleet_harness.runtime.unreadable.clear()
    await fleet_harness.later(minutes=2)
    assert (await fleet_harness.node(bad.id)).status is NodeStatus.WAITING_UNLOCK


async def test_a_node_of_which_nothing_was_there_is_looked_for_again(
    fleet_harness: FleetHarness,
) -> None:
    """Its pod and its volume claim, say, until the operator brings the claim back."""
    node = await fleet_harness.running()
    home = fleet_harness.runtime.homes[node.id]
    fleet_harness.runtime.lose(node.id)
    await fleet_harness.restart()
    await fleet_harness.watching.check()
    await fleet_harness.settled()
    after = await fleet_harness.node(node.id)
    assert (after.status, after.process) == (node.status, node.process)
    await fleet_harness.watching.check()
    await fleet_harness.settled()
    assert await fleet_harness.node(node.id) == after
    fleet_harness.runtime.homes[node.id] = home
    await fleet_harness.watching.check()
    await fleet_harness.settled()
    await fleet_harness.later(seconds=2)
    assert len(fleet_harness.runtime.starts) == 2
    assert (await fleet_harness.node(node.id)).status is NodeStatus.WAITING_INIT


async def test_what_was_refused_while_a_machine_was_lost_is_done_at_its_return(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    fleet_harness.runtime.cut_off(node.id)
    await fleet_harness.settled()
    unknown = (await fleet_harness.node(node.id)).unknown
    assert unknown == Unknown(
        since=fleet_harness.now, why="its machine does not respond"
    )
    await fleet_harness.ask(node, Action.RESTART)
    await fleet_harness.refused()
    assert await fleet_harness.work() == 0, "it waits"
    fleet_harness.runtime.reconnect(node.id)
    await fleet_harness.settled()
    await fleet_harness.work()
    after = await fleet_harness.node(node.id)
    assert (after.status, len(fleet_harness.runtime.starts)) == (
        NodeStatus.WAITING_INIT,
        2,
    )
    assert after.unknown is None
    assert after.process not in {"", node.process}


async def test_of_what_is_heard_twice_nothing_is_to_be_done(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    fleet_harness.runtime.cut_off(node.id)
    fleet_harness.runtime.reconnect(node.id)
    await fleet_harness.settled()
    tasks = fleet_harness.fleet.database.reader.tasks
    assert await tasks.next_due(NODE, now=fleet_harness.now) is None


async def test_a_node_whose_wallet_is_gone_fails(fleet_harness: FleetHarness) -> None:
    node = await fleet_harness.running()
    await fleet_harness.lose_wallet(node)
    assert (await fleet_harness.node(node.id)).status is NodeStatus.FAILED
    assert fleet_harness.runtime.starts == [node.id]


async def test_tasks_of_nodes_are_for_the_home_and_for_who_watches_them(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.create()
    db, later = fleet_harness.fleet.database, fleet_harness.now + 2 * CLAIM_FOR
    async with db.transaction() as tx:
        await tx.tasks.release_all()
        await tx.homes.enter(process("two"), delete_before=NOW)

    async def claimed(kind: str, by: str) -> list[str]:
        watch = WATCH if kind == NODE else ""
        async with db.transaction() as tx:
            found = await tx.tasks.claim(
                kind, now=later, until=later + MINUTE, limit=9, holder=by, watch=watch
            )
        return [each.key for each in found]

    for kind in (WATCH, ROUTES, NODE):
        assert await claimed(kind, "stranger") == []
    assert await claimed(NODE, "one") == [], "nobody watches it yet"
    assert await claimed(WATCH, "one") == [EVERYTHING]
    assert await claimed(WATCH, "two") == []
    assert await claimed(NODE, "two") == []
    assert await claimed(NODE, "one") == [node.id]
    async with db.transaction() as tx:
        await tx.tasks.put(NODE, node.id, due=NOW)
        await tx.tasks.release_all()
        await tx.homes.take(OURS, kinds=OF_THE_HOME)
    for kind in (WATCH, ROUTES, NODE):
        assert await claimed(kind, "one") == [], "the home is another's"


async def test_a_watch_that_is_given_back_gives_no_right_to_nodes(
    fleet_harness: FleetHarness,
) -> None:
    await fleet_harness.create()
    db, now = fleet_harness.fleet.database, fleet_harness.now
    async with db.transaction() as tx:
        await tx.tasks.release_all()
        how: dict[str, Any] = {
            "now": now,
            "until": now + MINUTE,
            "limit": 9,
            "holder": "one",
        }
        (watch,) = await tx.tasks.claim(WATCH, **how)
        await tx.tasks.reschedule(watch, due=now, attempts=0)
        assert not await tx.tasks.claim(NODE, watch=WATCH, **how)


async def test_what_stands_is_next_due_when_its_claim_ends(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.tasks.put(WATCH, "0", due=NOW)
        (claim,) = await tx.tasks.claim(WATCH, now=NOW, until=NOW + MINUTE, limit=1)
        until = NOW + 2 * MINUTE
        held = await tx.tasks.extend(WATCH, [claim], until=until, continuous=True)
        assert held == [claim]
        assert await tx.tasks.next_due(WATCH, now=NOW + MINUTE) is None
        ended = NOW + 2 * MINUTE
        (heir,) = await tx.tasks.claim(WATCH, now=ended, until=ended, limit=1)
        assert heir.attempts == 1
        until = ended + MINUTE
        assert not await tx.tasks.extend(WATCH, [claim], until=until, continuous=True)
        with pytest.raises(Lost):
            await tx.tasks.lock(claim)


async def test_shards_of_an_earlier_version_end_once_no_worker_has_them(
    fleet_harness: FleetHarness,
) -> None:
    fleet, now = fleet_harness.fleet, utc_now()
    db, tasks = fleet.database, fleet.database.reader.tasks
    async with db.transaction() as tx:
        await tx.tasks.put_many(RETIRED, ["0", "1"], due=now)
        until = now + MINUTE
        (held,) = await tx.tasks.claim(RETIRED, now=now, until=until, limit=1)
    (free,) = {"0", "1"} - {held.key}
    queues = fleet_queues(fleet, fleet_harness.watching)
    retired = [queue for queue in queues if queue.kind == RETIRED]
    working = asyncio.create_task(Worker(db, retired, clock=utc_now).run())
    async with asyncio.timeout(30):
        while await tasks.is_queued(RETIRED, free):
            await asyncio.sleep(0.02)
    assert await tasks.is_queued(RETIRED, held.key)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working


class Works:
    """A process that looks after nodes, for the length of a block."""

    def __init__(self, fleet_harness: FleetHarness, name: str) -> None:
        self.name = name
        self.fleet = replace(fleet_harness.fleet, clock=utc_now)
        self.watching = Watching(self.fleet)
        self.watching.claim_for = timedelta(
            seconds=4
        )  # what it held is free after that
        queues = [
            queue
            for queue in fleet_queues(self.fleet, self.watching)
            if queue.kind in {NODE, WATCH}
        ]
        self._worker = Worker(
            self.fleet.database, queues, clock=utc_now, process_id=name
        )

    async def __aenter__(self) -> Self:
        async with self.fleet.database.transaction() as tx:
            await tx.homes.enter(process(self.name), delete_before=NOW)
            await tx.tasks.put(WATCH, EVERYTHING, due=utc_now())
        self._task = asyncio.create_task(self._worker.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await self.watching.close()


async def holder(db: Database, expected: str) -> None:
    """Wait until this process watches."""
    statement = Statement(
        "SELECT holder FROM task WHERE kind = 'watcher' AND lease > 0"
    )
    async with asyncio.timeout(30):
        while await db.reader.run(statement) != [(expected,)]:
            await asyncio.sleep(0.02)


class TestSeveral:
    """On PostgreSQL several processes may watch, and one does."""

    @pytest.fixture
    def database_url(self, postgres_url: str) -> str:
        return postgres_url

    async def test_another_watches_when_one_leaves(
        self, fleet_harness: FleetHarness
    ) -> None:
        db = fleet_harness.fleet.database
        async with db.transaction() as tx:
            await tx.tasks.release_all()
        async with AsyncExitStack() as first:
            await first.enter_async_context(Works(fleet_harness, "two"))
            await holder(db, "two")
            async with Works(fleet_harness, "three") as three:
                assert not three.watching.found.is_set()
                await first.aclose()
                await holder(db, "three")
                async with asyncio.timeout(10):
                    await three.watching.found.wait()

    async def test_a_node_started_by_who_lost_the_claim_is_looked_for(
        self, fleet_harness: FleetHarness
    ) -> None:
        node = await fleet_harness.running()
        heir = await take_over(fleet_harness)
        held = heir.watching._held
        assert held is not None
        held.nodes.clear()  # it was started after they were found
        fleet_harness.runtime.watch(heir.watching.enqueue)
        await heir.watching.check()
        await heir.settled()
        assert held.nodes == {node.id: node.process}


async def test_routes_brought_by_who_lost_the_task_are_brought_again(
    fleet_harness: FleetHarness,
) -> None:
    """What it wrote may be older than what another has brought meanwhile."""
    db = fleet_harness.fleet.database
    async with db.transaction() as tx:
        await tx.tasks.put(ROUTES, EVERYTHING, due=fleet_harness.now)
        (old,) = await tx.tasks.claim(
            ROUTES, now=fleet_harness.now, until=fleet_harness.now, limit=1
        )
        (new,) = await tx.tasks.claim(
            ROUTES, now=fleet_harness.now, until=fleet_harness.now + MINUTE, limit=1
        )
        await tx.tasks.end(new)
    with pytest.raises(Lost):
        await fleet_harness.routes.update(Work(db, old))
    assert (
        await db.reader.tasks.next_due(ROUTES, now=fleet_harness.now)
        == fleet_harness.now
    )
