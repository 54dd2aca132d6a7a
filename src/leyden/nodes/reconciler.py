"""Reconciling nodes: one step at a time, each saved before the next.

    1. Read the node, and compute its plan.
    2. Do the one thing that is due; save each of its steps.
    3. Observe the node, and store that.
    4. Complete the task, or reschedule it for the next due time. This happens
       in the transaction that read the node last, so that a command given
       meanwhile is not lost.

After a kill at any point, the next run finds what is there and continues.
"""

import asyncio
import logging
from datetime import datetime

from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import Lost, NodeAway, Refused, SetupError
from leyden.nodes import backups, failures, launch_specs, node_events
from leyden.nodes.changes import change
from leyden.nodes.fleet import NODE, Fleet
from leyden.nodes.rules.node_moves import NodeStep, give_up, plan
from leyden.nodes.rules.nodes import DesiredState, Node
from leyden.nodes.rules.observations import (
    Observation,
    observe,
    record_failure,
    record_host,
    record_launch,
)
from leyden.nodes.runtimes.base import Checkpoint, LaunchSpec

log = logging.getLogger(__name__)


async def step(fleet: Fleet, work: ClaimedTask) -> None:
    """Advance one node by one step; called until nothing is left to do."""
    node = await fleet.database.reader.nodes.find(work.key)
    if node is None:
        return
    match plan(node, fleet.clock()):
        case NodeStep.START:
            await _start(fleet, work, node)
        case NodeStep.STOP:
            await fleet.runtime.stop(node)
            observation = await fleet.runtime.observe(node)
            if not observation.known:
                raise NodeAway(f"node {node.id}: whether its lnd has ended is unknown")
            await store_observation(fleet, work, node.id, observation)
        case NodeStep.REMOVE:
            if await _remove(fleet, work, node):
                return
        case NodeStep.NOTHING if node.has_process:
            # This process watches the node: `observe` starts to listen to it.
            await store_observation(
                fleet, work, node.id, await fleet.runtime.observe(node)
            )
        case NodeStep.WAIT | NodeStep.NOTHING:
            await _stop_unsaved(fleet, node)
    await _end(fleet, work)


async def _stop_unsaved(fleet: Fleet, node: Node) -> None:
    """Stop an lnd that may run although its owner wants none, and none is known.

    A start was interrupted before its process was saved, and its owner stopped or
    deleted the node before it was repeated.
    """
    wanted = node.wanted is DesiredState.RUNNING
    if not wanted and not node.has_process and node.moves_to is None:
        await fleet.runtime.stop(node)


async def store_observation(
    fleet: Fleet, work: ClaimedTask, node_id: str, observation: Observation
) -> Node | None:
    """Store an observation of a node's lnd; return the node if it is stored already.

    `work` authorizes the write: the node's own task, or the one of who watches it.
    """
    fleet.starts.update(node_id, observation)
    now = fleet.clock()
    node = await fleet.database.reader.nodes.find(node_id)
    if node is None or (after := observe(node, observation, now)) == node:
        return node  # nothing new: no transaction for that
    if node.has_process and not after.has_process:
        await _keep_last_channels(fleet, node)
    async with work.transaction() as tx:
        before = await tx.nodes.lock(node_id)
        await change(tx, before, observe(before, observation, now), now=now)
    return None


async def _keep_last_channels(fleet: Fleet, node: Node) -> None:
    """Store what lnd wrote right before its end: nobody looks at a node without one.

    It comes before the end is stored, so that a kill in between repeats it.
    """
    try:
        await backups.copy_channels(fleet, node)
    except OSError as error:
        log.warning(
            "node %s: its channel backup cannot be read",
            node.id,
            extra={"why": str(error)},
        )


async def _start(fleet: Fleet, work: ClaimedTask, node: Node) -> None:
    await fleet.starts.acquire(node.id, node.organization_id)
    try:
        # Let the response to the command be sent first: what follows blocks the event
        # loop for some milliseconds.
        await asyncio.sleep(0)
        # The wait may have been long: the owner may want something else by now.
        node = await fleet.database.reader.nodes.get(node.id)
        if plan(node, fleet.clock()) is not NodeStep.START:
            fleet.starts.release(node.id)
            return
        launch_spec = await _launch_spec(fleet, work, node)
        async for checkpoint in fleet.runtime.start(node, launch_spec):
            node = await _save(fleet, work, node.id, checkpoint)
    except (OSError, SetupError, Refused) as error:
        fleet.starts.release(node.id)
        log.warning("node %s: could not be started", node.id, extra={"why": str(error)})
        # A process may have been started: nobody else would observe its end.
        observation = await fleet.runtime.observe(node) if node.has_process else None
        now = fleet.clock()
        async with work.transaction() as tx:
            before = await tx.nodes.lock(node.id)
            reason, why = failures.reason_of(error), str(error)
            await failures.note(tx, before, reason=reason, why=why, now=now)
            after = record_failure(
                before, now=now, observation=observation, reason=reason, why=why
            )
            await change(tx, before, after, now=now)
        return
    except Lost:
        fleet.starts.release(node.id)
        await _undo_late_start(fleet, node)
        raise
    except BaseException:
        fleet.starts.release(node.id)
        raise
    await store_observation(fleet, work, node.id, await fleet.runtime.observe(node))


async def _undo_late_start(fleet: Fleet, node: Node) -> None:
    """Have an lnd stopped that was started after this process had lost its claim.

    Where the node still is, whoever has it now looks at it again, and adopts or stops
    the lnd. If the node has moved meanwhile, nobody else looks here.
    """
    found = await fleet.database.reader.nodes.find(node.id)
    if found is None or found.runtime is not node.runtime or found.moves_to is not None:
        await fleet.runtime.stop(node)
        return
    async with fleet.database.transaction() as tx:
        await tx.tasks.put(NODE, node.id, due=fleet.clock())


async def _launch_spec(fleet: Fleet, work: ClaimedTask, node: Node) -> LaunchSpec:
    """Open the node's launch spec; renew its certificate if due."""
    now, reader = fleet.clock(), fleet.database.reader
    sealed = await reader.launch_specs.get(node.id)
    tls = await launch_specs.next_certificate(fleet, reader, node, sealed, now=now)
    if tls is not None:
        async with work.transaction() as tx:
            await tx.nodes.lock(node.id)
            # Its owner may have uploaded another one meanwhile, which stays.
            present = await tx.launch_specs.get(node.id)
            if present.certificate == sealed.certificate:
                await launch_specs.keep_certificate(fleet, tx, node, tls)
        sealed = await reader.launch_specs.get(node.id)
    last_start = await reader.node_starts.get(node.id)
    return launch_specs.unseal(fleet, node, sealed, last_start=last_start)


async def _save(
    fleet: Fleet, work: ClaimedTask, node_id: str, checkpoint: Checkpoint
) -> Node:
    now = fleet.clock()
    async with work.transaction() as tx:
        before = await tx.nodes.lock(node_id)
        after = record_host(before, host=checkpoint.host)
        if checkpoint.process:
            after = record_launch(
                after,
                process=checkpoint.process,
                revision=checkpoint.revision,
                now=now,
            )
        if checkpoint.start.number:
            await tx.node_starts.save(node_id, checkpoint.start)
        return await change(tx, before, after, now=now)


async def _remove(fleet: Fleet, work: ClaimedTask, node: Node) -> bool:
    """Destroy what is left of a node; return False if it was restored meanwhile."""
    async with work.transaction() as tx:
        before = await tx.nodes.lock(node.id)
        if plan(before, fleet.clock()) is not NodeStep.REMOVE:
            return False
        if not before.is_destroyed:
            await tx.nodes.save(before, give_up(before))
    await _stop_unsaved(fleet, node)
    await fleet.runtime.remove(node)
    async with work.transaction() as tx:
        await tx.backups.delete(node.id)
        await tx.replaced_backups.delete(node.id)
        await tx.issued.delete(node.api_endpoint)
        await tx.log_positions.delete(node.id)
        await tx.node_reports.delete(node.id)
        await tx.node_samples.delete(node.id)
        await tx.node_drills.delete(node.id)
        await tx.node_starts.delete(node.id)
        await tx.node_keys.delete(node.id)
        await tx.node_onions.delete(node.id)
        await tx.relocations.delete(node.id)
        await node_events.delete_webhook(tx, node.id)
        await tx.nodes.vacate(node.id)
        await work.done(tx)
    log.info("node %s: removed its data", node.id)
    return True


async def _end(fleet: Fleet, work: ClaimedTask) -> None:
    now: datetime = fleet.clock()
    async with work.transaction() as tx:
        node = await tx.nodes.lock(work.key)
        match plan(node, now):
            case NodeStep.NOTHING:
                await work.done(tx)
            case NodeStep.WAIT:
                await work.reschedule(tx, due=node.due)
            case NodeStep.START | NodeStep.STOP | NodeStep.REMOVE:
                await work.reschedule(tx, due=now)
