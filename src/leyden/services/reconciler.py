"""Making nodes what they should be: one step at a time, each saved before the next.

    1. Look at the node, and at the plan.
    2. Do the one thing that is due; every step of it is saved as it is taken.
    3. Write down what is seen afterwards.
    4. End the task, or come back when the next thing is due: in the transaction that
       looked last, so that nothing that is asked for meanwhile is forgotten.

Killed anywhere, the next run finds what is there and goes on.
"""

import asyncio
from datetime import datetime

from leyden import logs
from leyden.domain.node_moves import Step, plan
from leyden.domain.nodes import Node, Status
from leyden.domain.observations import (
    Observation,
    broke,
    housed,
    launched,
    observe,
)
from leyden.errors import NodeAway, Refused, SetupError
from leyden.runtimes.base import Checkpoint, Outfit
from leyden.services import outfitting, webhooks
from leyden.services.changes import change
from leyden.services.due import Due
from leyden.services.fleet import Fleet

log = logs.get()


async def step(fleet: Fleet, work: Due) -> None:
    """Take one node one step nearer; called again until there is nothing to do."""
    node = await fleet.database.reader.nodes.find(work.key)
    if node is None:
        return
    match plan(node, fleet.clock()):
        case Step.START:
            await _start(fleet, work, node)
        case Step.STOP:
            await fleet.runtime.stop(node)
            seen = await fleet.runtime.observe(node)
            if not seen.known:
                raise NodeAway(f"node {node.id}: whether its lnd has ended is unknown")
            await see(fleet, work, node.id, seen)
        case Step.REMOVE:
            await _remove(fleet, work, node)
            return
        case Step.NOTHING if node.has_process:
            # Whoever has this task watches the node: let it be heard from now on.
            await see(fleet, work, node.id, await fleet.runtime.observe(node))
        case Step.WAIT | Step.NOTHING:
            pass
    await _end(fleet, work)


async def see(fleet: Fleet, work: Due, node_id: str, seen: Observation) -> None:
    """Take in what was seen of a node's lnd; the second time nothing happens.

    `work` is what gives us the right to: the node's own task, or that of its shard.
    """
    fleet.starts.see(node_id, seen)
    now = fleet.clock()
    node = await fleet.database.reader.nodes.find(node_id)
    if node is None or observe(node, seen, now) == node:
        return  # nothing new: no transaction for that
    async with work.transaction() as tx:
        before = await tx.nodes.lock(node_id)
        await change(tx, before, observe(before, seen, now), now=now)


async def _start(fleet: Fleet, work: Due, node: Node) -> None:
    if node.status is not Status.PROVISIONING:  # where there is no wallet to unlock
        await fleet.starts.enter(node.id)
    try:
        # Whoever wished for it has his answer first: what follows holds the loop for
        # some milliseconds, and what was written in this turn leaves after it.
        await asyncio.sleep(0)
        # The wait may have been long, and something else be wanted by now.
        node = await fleet.database.reader.nodes.get(node.id)
        if plan(node, fleet.clock()) is not Step.START:
            fleet.starts.leave(node.id)
            return
        outfit = await _outfit(fleet, work, node)
        async for checkpoint in fleet.runtime.start(node, outfit):
            node = await _save(fleet, work, node.id, checkpoint)
    except (OSError, SetupError, Refused) as error:
        fleet.starts.leave(node.id)
        log.warning("node %s: could not be started", node.id, why=str(error))
        now = fleet.clock()
        async with work.transaction() as tx:
            before = await tx.nodes.lock(node.id)
            await change(tx, before, broke(before, now=now), now=now)
        return
    except BaseException:
        fleet.starts.leave(node.id)
        raise
    await see(fleet, work, node.id, await fleet.runtime.observe(node))


async def _outfit(fleet: Fleet, work: Due, node: Node) -> Outfit:
    """Open what the node is started with; its certificate is renewed if it is due."""
    now, reader = fleet.clock(), fleet.database.reader
    sealed = await reader.outfits.get(node.id)
    tls = await outfitting.next_certificate(fleet, reader, node, sealed, now=now)
    if tls is not None:
        async with work.transaction() as tx:
            await outfitting.keep_certificate(fleet, tx, node, tls)
        sealed = await reader.outfits.get(node.id)
    return outfitting.opened(fleet, node, sealed)


async def _save(fleet: Fleet, work: Due, node_id: str, checkpoint: Checkpoint) -> Node:
    now = fleet.clock()
    async with work.transaction() as tx:
        before = await tx.nodes.lock(node_id)
        after = housed(before, host=checkpoint.host)
        if checkpoint.process:
            after = launched(
                after,
                process=checkpoint.process,
                revision=checkpoint.revision,
                now=now,
            )
        return await change(tx, before, after, now=now)


async def _remove(fleet: Fleet, work: Due, node: Node) -> None:
    await fleet.runtime.remove(node)
    async with work.transaction() as tx:
        await tx.backups.forget(node.id)
        await tx.replaced_backups.forget(node.id)
        await tx.issued.forget(node.api_endpoint)
        await tx.log_places.forget(node.id)
        await webhooks.forget(tx, node.id)
        await tx.nodes.vacate(node.id)
        await work.done(tx)
    log.info("node %s: its data is removed", node.id)


async def _end(fleet: Fleet, work: Due) -> None:
    now: datetime = fleet.clock()
    async with work.transaction() as tx:
        node = await tx.nodes.lock(work.key)
        match plan(node, now):
            case Step.NOTHING:
                await work.done(tx)
            case Step.WAIT:
                await work.again(tx, due=node.due)
            case Step.START | Step.STOP | Step.REMOVE:
                await work.again(tx, due=now)
