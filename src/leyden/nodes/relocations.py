"""Moving nodes between runtimes: a sequence of steps, each saved before the next.

At most one side may start the node at any moment. Until the one write of `_switch` that
is neither, because its data is sealed at the origin; from then on it is the target.
After a kill at any point the next run repeats the step.
"""

import contextlib
import logging
from datetime import datetime, timedelta
from typing import Final

from leyden.base.database.database import Database
from leyden.base.database.stores import Stores
from leyden.base.rules.times import Clock
from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import LeydenError, NotAllowed, NotFound, Stale
from leyden.nodes import launch_specs
from leyden.nodes.changes import change
from leyden.nodes.fleet import NODE, RELOCATION, Fleet
from leyden.nodes.rules.nodes import Node, RuntimeName
from leyden.nodes.rules.observations import pause
from leyden.nodes.rules.relocations import (
    Relocation,
    RelocationStep,
    begin,
    stay,
    switch,
)
from leyden.nodes.runtimes.base import LaunchSpec
from leyden.nodes.runtimes.move_endpoints import MoveEndpoint
from leyden.values import replace

# After so many failures the node is started where it was.
MAX_FAILURES: Final = 5
_LOOK_AGAIN: Final = timedelta(seconds=0.25)

log = logging.getLogger(__name__)


async def request(
    database: Database, clock: Clock, node_id: str, to: RuntimeName, *, actor: str
) -> Relocation:
    """Begin to move a node; raise NotFound or NotAllowed if it cannot be moved."""
    now = clock()
    async with database.transaction() as tx:
        try:
            before = await tx.nodes.lock(node_id)
        except NotFound:
            raise NotFound(f"no node {node_id}") from None
        moved = Relocation(node_id=node_id, origin=before.runtime, target=to, at=now)
        after = begin(before, to)
        await tx.relocations.begin(moved)
        await change(tx, before, after, now=now)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="node moved",
            subject=node_id,
            organization_id=before.organization_id,
            changes={"runtime": (before.runtime.value, to.value)},
        )
        await tx.tasks.put(NODE, node_id, due=now)
        await tx.tasks.put(RELOCATION, node_id, due=now)
    return moved


async def alarms(rows: Stores) -> dict[str, str]:
    """Return the moves that keep failing after the copy, by the id of the node."""
    return {
        each.node_id: f"the move of node {each.node_id} to {each.target} has failed "
        f"{each.failures} times while {each.step}, and is retried: {each.why}"
        for each in await rows.relocations.unfinished()
        if each.failures >= MAX_FAILURES
    }


async def step(fleet: Fleet, work: ClaimedTask) -> None:
    """Advance a node's move by one step; called until it is done."""
    relocation = await fleet.database.reader.relocations.find(work.key)
    node = await fleet.database.reader.nodes.find(work.key)
    if relocation is None or node is None or relocation.step is RelocationStep.DONE:
        return
    try:
        match relocation.step:
            case RelocationStep.STOPPING:
                await _await_end(fleet, work, node, relocation)
            case RelocationStep.COPYING:
                await _copy(fleet, work, node, relocation)
            case RelocationStep.SWITCHING:
                await _switch(fleet, work, node, relocation)
            case RelocationStep.RETURNING:
                await _return(fleet, work, node, relocation)
            case RelocationStep.CLEANING:
                await _clean(fleet, work, node, relocation)
    except Stale:
        raise
    except (LeydenError, OSError) as error:
        await _note_failure(fleet, work, relocation, str(error))


async def _await_end(
    fleet: Fleet, work: ClaimedTask, node: Node, relocation: Relocation
) -> None:
    """Wait until its lnd has ended, and its own task as well.

    That may be a start that began before the move, and knows nothing of it.
    """
    now, tasks = fleet.clock(), fleet.database.reader.tasks
    if not node.has_process and not await tasks.is_queued(NODE, node.id):
        await _advance(fleet, work, relocation, step=RelocationStep.COPYING)
        return
    async with work.transaction() as tx:
        await work.reschedule(tx, due=now + _LOOK_AGAIN)


async def _copy(
    fleet: Fleet, work: ClaimedTask, node: Node, relocation: Relocation
) -> None:
    """Seal the node's data at the origin, and store an equal copy at the target."""
    origin, target = _side(fleet, relocation.origin), _side(fleet, relocation.target)
    launch_spec = await _launch_spec(fleet, node)
    await origin.seal(node, launch_spec)
    sealed = await origin.content(node)
    async with contextlib.aclosing(origin.read(node)) as archive:
        copy = await target.write(node, launch_spec, archive, sealed)
    await _advance(
        fleet,
        work,
        relocation,
        step=RelocationStep.SWITCHING,
        copy=copy,
        size=sealed.size,
    )


async def _switch(
    fleet: Fleet, work: ClaimedTask, node: Node, relocation: Relocation
) -> None:
    """Assign the node to the target: nobody may start it before this one write."""
    last_start = await fleet.database.reader.node_starts.get(node.id)
    target = _side(fleet, relocation.target)
    start = await target.settle(node, relocation.copy, last_start)
    now = fleet.clock()
    async with work.transaction() as tx:
        before = await tx.nodes.lock(node.id)
        await tx.relocations.save(
            relocation, _next(relocation, now, step=RelocationStep.CLEANING)
        )
        # A move counts as a start: a folder from before it is an old copy for good.
        await tx.node_starts.save(node.id, start)
        await change(tx, before, switch(before, now=now), now=now)
        await work.reschedule(tx, due=now)
    log.info("node %s: runs in %s now", node.id, relocation.target)


async def _return(
    fleet: Fleet, work: ClaimedTask, node: Node, relocation: Relocation
) -> None:
    await _side(fleet, relocation.origin).unseal(node)
    now = fleet.clock()
    async with work.transaction() as tx:
        before = await tx.nodes.lock(node.id)
        after = _next(relocation, now, step=RelocationStep.CLEANING, why=relocation.why)
        await tx.relocations.save(relocation, after)
        await change(tx, before, stay(before, now=now), now=now)
        await work.reschedule(tx, due=now)
    log.warning(
        "node %s: stays in %s",
        node.id,
        relocation.origin,
        extra={"why": relocation.why},
    )


async def _clean(
    fleet: Fleet, work: ClaimedTask, node: Node, relocation: Relocation
) -> None:
    """Delete what is left on the side that the node is not on."""
    other = (
        relocation.origin if node.runtime is relocation.target else relocation.target
    )
    side = _side(fleet, other)
    found = await side.leftovers(node)
    # It is left over only if no other process has gone on with the move until now.
    async with work.transaction() as tx:
        await tx.nodes.lock(node.id)
    await side.delete(node, found)
    async with work.transaction() as tx:
        after = _next(
            relocation, fleet.clock(), step=RelocationStep.DONE, why=relocation.why
        )
        await tx.relocations.save(relocation, after)
        await work.done(tx)


async def _note_failure(
    fleet: Fleet, work: ClaimedTask, relocation: Relocation, why: str
) -> None:
    """Retry later; move the node back once its copy has failed too often."""
    failures, now = relocation.failures + 1, fleet.clock()
    log.warning("node %s: its move is stuck", relocation.node_id, extra={"why": why})
    after = replace(relocation, failures=failures, why=why)
    due = now + pause(failures)
    if relocation.step is RelocationStep.COPYING and failures >= MAX_FAILURES:
        after, due = _next(relocation, now, step=RelocationStep.RETURNING, why=why), now
    async with work.transaction() as tx:
        await tx.relocations.save(relocation, after)
        await work.reschedule(tx, due=due)


async def _advance(
    fleet: Fleet,
    work: ClaimedTask,
    relocation: Relocation,
    *,
    step: RelocationStep,
    copy: str = "",
    size: int = 0,
) -> None:
    now = fleet.clock()
    after = replace(_next(relocation, now, step=step), copy=copy, size=size)
    async with work.transaction() as tx:
        await tx.relocations.save(relocation, after)
        await work.reschedule(tx, due=now)


def _next(
    relocation: Relocation, now: datetime, *, step: RelocationStep, why: str = ""
) -> Relocation:
    return replace(relocation, step=step, failures=0, why=why, at=now)


async def _launch_spec(fleet: Fleet, node: Node) -> LaunchSpec:
    reader = fleet.database.reader
    sealed = await reader.launch_specs.get(node.id)
    last_start = await reader.node_starts.get(node.id)
    return launch_specs.unseal(fleet, node, sealed, last_start=last_start)


def _side(fleet: Fleet, name: RuntimeName) -> MoveEndpoint:
    """Return a side; raise NotAllowed if this process does not serve it."""
    if (side := fleet.sides.get(name)) is None:
        raise NotAllowed(
            f'runtime: must be "both" until all moves are done; {name} is turned off'
        )
    return side
