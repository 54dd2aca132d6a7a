"""Deleted nodes, and restoring them."""

from starlette.responses import Response

from leyden.base.pages.visits import Visit, redirect
from leyden.errors import Conflict, LeydenError, Malformed
from leyden.nodes import restoring
from leyden.nodes.pages.fleet import fleet_of, which


async def list_(visit: Visit) -> Response:
    """List the deleted nodes that can be restored."""
    return await _shown(visit)


async def restore(visit: Visit) -> Response:
    """Restore a deleted node, under another name if its own is taken."""
    organization_id, node_id = which(visit)
    try:
        node = await restoring.restore(
            fleet_of(visit),
            organization_id,
            node_id,
            visit.form.text("name") or None,
            actor=visit.user.actor,
            now=visit.now,
        )
    except (Conflict, Malformed) as refused:
        return await _shown(visit, refused=refused)
    return redirect(f"{visit.root}/nodes/{node.id}?done=restore")


async def _shown(visit: Visit, *, refused: LeydenError | None = None) -> Response:
    found = await restoring.list_(visit.rows, visit.organization_id)
    names = {each.name for each in found}
    nodes = visit.rows.nodes
    return visit.render(
        "nodes/deleted.html",
        deleted=found,
        taken=await nodes.taken(visit.organization_id, names),
        refused=refused,
    )
