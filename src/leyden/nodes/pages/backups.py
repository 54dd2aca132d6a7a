"""A node's stored backups: the owner's ciphertext, and lnd's SCB."""

from starlette.responses import Response

from leyden.base.pages.visits import Visit
from leyden.errors import NotFound
from leyden.nodes import backups, proofs, views
from leyden.nodes.pages import node
from leyden.nodes.pages.fleet import fleet_of, which
from leyden.nodes.rows.backups import ChannelBackup


async def show(visit: Visit) -> Response:
    """Show which backups are stored, without their contents."""
    fleet = fleet_of(visit)
    view = await views.get(fleet, *which(visit))
    return node.render(
        visit,
        "nodes/backups.html",
        view,
        seed=await backups.has_seed(fleet, *which(visit)),
        macaroons=await backups.macaroons(fleet, *which(visit)),
        channels=await _channels(visit),
        proofs=await proofs.show(fleet, *which(visit), now=visit.now),
    )


async def channels(visit: Visit) -> Response:
    """Send lnd's channel backup as the file that lnd reads."""
    view = await views.get(fleet_of(visit), *which(visit))
    stored = await backups.channels(fleet_of(visit), *which(visit))
    return Response(
        stored.content,
        media_type="application/octet-stream",
        headers={
            "content-disposition": "attachment; "
            f'filename="{view.api_endpoint}.channel.backup"'
        },
    )


async def _channels(visit: Visit) -> ChannelBackup | None:
    try:
        return await backups.channels(fleet_of(visit), *which(visit))
    except NotFound:
        return None
