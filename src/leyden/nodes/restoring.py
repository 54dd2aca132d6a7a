"""Restoring deleted nodes, as long as their data is kept.

A node's data is removed once `due` has passed. The removal first gives up the time
that is left, in a transaction of its own: from then on no clock is slow enough to
restore what is being destroyed.
"""

from contextlib import suppress
from datetime import datetime

from leyden.base import rights
from leyden.base.database.stores import Stores
from leyden.base.rules.sign_in import Right
from leyden.errors import Conflict, NotFound, Taken
from leyden.nodes import peer_addresses
from leyden.nodes.changes import change
from leyden.nodes.fleet import CERTIFICATES, EVERYTHING, NODE, Fleet
from leyden.nodes.rows.nodes import Deleted
from leyden.nodes.rules.node_moves import apply_command, is_restorable
from leyden.nodes.rules.nodes import Action, Node, check_name
from leyden.people import quotas
from leyden.values import replace


async def list_(rows: Stores, organization_id: str) -> list[Deleted]:
    """List the deleted nodes that can be restored, the last deleted first."""
    return await rows.nodes.deleted(organization_id)


async def restore(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    name: str | None,
    *,
    actor: str,
    now: datetime,
) -> Node:
    """Bring a deleted node back, stopped, under its name or another one.

    Raise NotFound once its data is being removed.
    """
    if name is not None:
        check_name(name)
    async with fleet.database.transaction() as tx:
        await rights.check(tx, actor, organization_id, Right.NODES)
        before = await _owned(tx, organization_id, node_id)
        restored = apply_command(before, Action.RESTORE, now=now)
        if not is_restorable(before, now):
            raise NotFound
        after = replace(restored, name=name or before.name)
        if await tx.nodes.find_by_name(organization_id, after.name) is not None:
            raise Taken(
                f"name: a node named {after.name!r} already exists; restore this node "
                "with another name"
            )
        # Without a free port it comes back all the same, unreachable for peers.
        with suppress(Conflict):
            after = await peer_addresses.adjust(tx, fleet, after, now=now)
        after = await change(tx, before, after, now=now)
        await tx.tasks.put(NODE, node_id, due=now)  # not when its data was to go
        await quotas.check_nodes(tx, fleet.rules.quotas, organization_id)
        await tx.commands.add(node_id, Action.RESTORE, at=now, actor=actor)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="node restore",
            subject=node_id,
            organization_id=organization_id,
            name=after.name,
        )
        if fleet.rules.issued:
            await tx.tasks.put(CERTIFICATES, EVERYTHING, due=now)
    return after


async def _owned(tx: Stores, organization_id: str, node_id: str) -> Node:
    """Lock the organization's node, also one that nobody sees any more."""
    node = await tx.nodes.lock(node_id)
    if node.organization_id != organization_id:
        raise NotFound
    return node
