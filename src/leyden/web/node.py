"""One node: how it does, how to reach it, what can be asked of it."""

from collections.abc import Hashable
from datetime import datetime
from typing import Any, Final

from starlette.responses import Response

from leyden.domain import versions
from leyden.domain.node_moves import MOVES
from leyden.domain.nodes import Action, Node
from leyden.domain.versions import Release
from leyden.errors import LeydenError, Malformed
from leyden.services import connecting, housekeeping, node_commands, nodes
from leyden.services.fleet import Fleet
from leyden.web import changes as changing
from leyden.web import pictures
from leyden.web.charts import curves
from leyden.web.fleet import fleet_of, may_change, node_root, which
from leyden.web.visits import Visit, go

_LOG_LINES = 200
# What was just done, by the word in the address; nothing else is ever said.
DONE: Final = {
    "saved": "Saved.",
    "restarting": "Saved. lnd starts again; its wallet is locked until you unlock it.",
    "start": "It is being started.",
    "stop": "It is being stopped.",
    "restart": "It starts again; its wallet is locked until you unlock it.",
    "update": "It is being updated; its wallet is locked until you unlock it.",
    "sent": "Sent. What came back is below.",
    "rotated": "There is a new secret. The old one signs beside it for a while.",
}


async def show(visit: Visit) -> Response:
    """Show how the node does and how to reach it."""
    fleet = fleet_of(visit)
    stamp = await nodes.stamp(fleet, *which(visit))
    view = await nodes.view(fleet, *which(visit))
    way = await connecting.connect(fleet, *which(visit))
    node = view.node
    usage = await fleet.homes.usage(node)
    traffic = (await fleet.gateway.traffic()).get(node.id)
    return render(
        visit,
        "nodes/overview.html",
        node,
        mark=changing.mark(stamp),
        history=view.history[:10],
        settings=view.settings,
        way=way,
        doors=fleet.rules.doors,
        qr=await pictures.qr(visit, way.lndconnect),
        usage=usage,
        traffic=traffic,
        up=_up(node, visit.now),
        curves=curves(visit.platform.samples.of(node.id)),
        newer=versions.newest_for(node.version, fleet.rules.catalogue),
        offers=_offers(fleet, node),
        in_clear=await housekeeping.found_in_clear(fleet, *which(visit)),
    )


async def changes(visit: Visit) -> Response:
    """Tell whenever the node has changed."""
    fleet = fleet_of(visit)

    async def look() -> Hashable:
        return await nodes.stamp(fleet, *which(visit))

    await look()  # so that a stranger's is not found at once
    return changing.stream(visit, changing.after_commits(fleet.database, look))


async def start(visit: Visit) -> Response:
    """Start the node."""
    return await _command(visit, Action.START)


async def stop(visit: Visit) -> Response:
    """Stop the node gracefully, and keep it stopped."""
    return await _command(visit, Action.STOP)


async def restart(visit: Visit) -> Response:
    """Stop the node gracefully and start it again."""
    return await _command(visit, Action.RESTART)


async def _command(visit: Visit, action: Action) -> Response:
    await node_commands.ask(
        fleet_of(visit),
        *which(visit),
        action,
        actor=visit.who.actor,
        now=visit.now,
    )
    return go(f"{node_root(visit)}?done={action}")


async def update(visit: Visit) -> Response:
    """Bring the node to a newer lnd."""
    await node_commands.update(
        fleet_of(visit),
        *which(visit),
        visit.form.text("version") or None,
        actor=visit.who.actor,
        now=visit.now,
    )
    return go(f"{node_root(visit)}?done=update")


async def delete(visit: Visit) -> Response:
    """Delete the node, if its name was typed."""
    fleet = fleet_of(visit)
    node = await nodes.get(fleet, *which(visit))
    if visit.form.text("name") != node.name:
        raise Malformed(
            f"To delete it, type its name as it is written: {node.name}. "
            "Nothing was deleted."
        )
    await node_commands.ask(
        fleet,
        *which(visit),
        Action.DELETE,
        actor=visit.who.actor,
        now=visit.now,
    )
    return go(f"{visit.root}/nodes")


async def log(visit: Visit) -> Response:
    """Show the end of lnd's log."""
    fleet = fleet_of(visit)
    node = await nodes.get(fleet, *which(visit))
    lines = await fleet.homes.log(node, _LOG_LINES)
    return render(visit, "nodes/log.html", node, lines=lines)


async def certificate(visit: Visit) -> Response:
    """Give what a client needs to trust the node, as a file."""
    fleet = fleet_of(visit)
    node = await nodes.get(fleet, *which(visit))
    chain = await nodes.certificate(fleet, *which(visit))
    return _file(chain, f"{node.api_endpoint}.pem")


async def authority(visit: Visit) -> Response:
    """Give the authority that vouches for all nodes, as a file."""
    return _file(fleet_of(visit).authority.root_pem, "leyden-authority.pem")


def render(
    visit: Visit,
    template: str,
    node: Node,
    *,
    refused: LeydenError | None = None,
    **shown: Any,
) -> Response:
    """Show one of a node's pages, with the frame they share."""
    allowed = {
        action
        for action in Action
        if may_change(visit) and (node.status, action) in MOVES
    }
    return visit.render(
        template,
        refused=refused,
        node=node,
        root=node_root(visit),
        allowed=allowed,
        done=DONE.get(visit.query.text("done"), ""),
        **shown,
    )


def _up(node: Node, now: datetime) -> int:
    since = now - node.launched_at if node.launched_at else None
    return max(0, int(since.total_seconds())) if since else 0


def _offers(fleet: Fleet, node: Node) -> list[tuple[Release, tuple[str, ...]]]:
    """Give what the node could be updated to, and what that would take away."""
    catalogue = fleet.rules.catalogue
    return [
        (release, versions.dropped(node.version, release.version, catalogue))
        for release in catalogue.releases
        if release.version > node.version
    ]


def _file(content: bytes, name: str) -> Response:
    return Response(
        content,
        media_type="application/x-pem-file",
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )
