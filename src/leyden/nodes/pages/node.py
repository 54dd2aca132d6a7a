"""A node's page: status, connecting, actions."""

from collections.abc import Hashable
from typing import Any, Final

from starlette.responses import Response

from leyden.base.pages import changes as changing
from leyden.base.pages.visits import Visit, redirect
from leyden.errors import LeydenError, Malformed
from leyden.nodes import commands, connecting, housekeeping, views
from leyden.nodes.fleet import Fleet
from leyden.nodes.gateway.base import Traffic
from leyden.nodes.pages import confirmations, node_tabs
from leyden.nodes.pages.charts import charts
from leyden.nodes.pages.fleet import fleet_of, may_change, node_root, which
from leyden.nodes.pages.next_steps import UPDATED_IN, next_step
from leyden.nodes.rules import versions
from leyden.nodes.rules.node_moves import is_allowed
from leyden.nodes.rules.nodes import Action, Node
from leyden.nodes.rules.samples import DAY, HOUR, MONTH
from leyden.nodes.rules.versions import Release

# What was just done, by the word in the address; nothing else is ever shown.
DONE: Final = {
    "saved": "Saved.",
    "restarting": "Saved. lnd restarts; its wallet is locked until you unlock it.",
    "start": "The node is starting.",
    "stop": "The node is stopping.",
    "restart": "The node is restarting. Its wallet is locked until you unlock it.",
    "restore": "The node is restored. Start it to use it again.",
    "update": "The node is updating. Its wallet is locked until you unlock it.",
    "sent": "Sent. See the response below.",
    "rotated": "You have a new secret. The old secret also works for a while.",
}
_SPANS: Final = {each.name: each for each in (HOUR, DAY, MONTH)}
# In place of a figure: 0 would be a lie.
NOT_KNOWN: Final = "—"


async def show(visit: Visit) -> Response:
    """Show the node's status and how to connect to it."""
    fleet = fleet_of(visit)
    stamp = await views.stamp(fleet, *which(visit))
    view = await views.view(fleet, *which(visit))
    way = await connecting.connect(fleet, *which(visit))
    return render(
        visit,
        "nodes/overview.html",
        view.node,
        mark=changing.mark(stamp),
        history=view.history[:10],
        settings=view.settings,
        way=way,
        sells_direct=visit.platform.sells_direct,
        offers_peers=bool(fleet.rules.peer_ports),
        authority=fleet.authority,
        offers=_offers(fleet, view.node) if may_change(visit) else [],
        in_clear=await housekeeping.found_in_clear(fleet, *which(visit)),
    )


async def machine(visit: Visit) -> Response:
    """Show what the node uses of its machine."""
    fleet = fleet_of(visit)
    stamp = await views.stamp(fleet, *which(visit))
    node = await views.get(fleet, *which(visit))
    usage = await fleet.node_files.usage(node)
    traffic = await fleet.gateway.traffic()
    samples = visit.platform.samples
    span = _SPANS.get(visit.query.text("span"), HOUR)
    found = (
        samples.of(node.id)
        if span is HOUR
        else await visit.rows.node_samples.of(node.id, span, now=visit.now)
    )
    return render(
        visit,
        "nodes/machine.html",
        node,
        mark=changing.mark(stamp),
        usage=usage,
        cpu_cores=samples.cpu_cores(node.id, usage, now=visit.now),
        traffic=None if traffic is None else traffic.get(node.id, Traffic()),
        unknown=NOT_KNOWN,
        up=node.uptime_s(visit.now),
        span=span,
        spans=_SPANS,
        charts=charts(found, span),
    )


async def changes(visit: Visit) -> Response:
    """Stream an event whenever the node changes."""
    fleet = fleet_of(visit)

    async def read() -> Hashable:
        return await views.stamp(fleet, *which(visit))

    await read()  # so that a stranger's is not found at once
    return changing.stream(visit, changing.after_commits(fleet.database, read))


async def start(visit: Visit) -> Response:
    """Start the node."""
    return await _command(visit, Action.START)


async def stop(visit: Visit) -> Response:
    """Stop the node gracefully, and do not start it again."""
    return await _command(visit, Action.STOP)


async def restart(visit: Visit) -> Response:
    """Stop the node gracefully and start it again."""
    return await _command(visit, Action.RESTART)


async def _command(visit: Visit, action: Action) -> Response:
    await commands.command(
        fleet_of(visit),
        *which(visit),
        action,
        actor=visit.user.actor,
        now=visit.now,
    )
    return redirect(f"{node_root(visit)}?done={action}")


async def update(visit: Visit) -> Response:
    """Update the node to a newer lnd."""
    await commands.update(
        fleet_of(visit),
        *which(visit),
        visit.form.text("version") or None,
        actor=visit.user.actor,
        now=visit.now,
    )
    return redirect(f"{node_root(visit)}?done=update")


async def delete(visit: Visit) -> Response:
    """Delete the node if its name was typed correctly."""
    fleet = fleet_of(visit)
    node = await views.get(fleet, *which(visit))
    if visit.form.text("name") != node.name:
        refused = Malformed(
            f"The name does not match. Type {node.name} to delete the node. Nothing "
            "was deleted."
        )
        return confirmations.of(visit, node, Action.DELETE, refused=refused)
    await commands.command(
        fleet,
        *which(visit),
        Action.DELETE,
        actor=visit.user.actor,
        now=visit.now,
    )
    return redirect(f"{visit.root}/nodes?deleted={node.id}")


async def certificate(visit: Visit) -> Response:
    """Send the certificate that clients must trust, as a file."""
    fleet = fleet_of(visit)
    node = await views.get(fleet, *which(visit))
    chain = await views.certificate(fleet, *which(visit))
    return _file(chain, f"{node.api_endpoint}.pem")


async def authority(visit: Visit) -> Response:
    """Send the root that clients of all nodes must trust, as a file: it is public."""
    return _file(fleet_of(visit).authority.root_pem, "leyden-authority.pem")


def render(
    visit: Visit,
    template: str,
    node: Node,
    *,
    refused: LeydenError | None = None,
    **shown: Any,
) -> Response:
    """Render one of a node's pages in their common frame."""
    root, may = node_root(visit), may_change(visit)
    here = node_tabs.of_url(visit.url, root)
    return visit.render(
        template,
        refused=refused,
        node=node,
        root=root,
        may_change=may,
        allowed={each for each in Action if may and is_allowed(node, each)},
        here=here,
        tabs=node_tabs.of_node(node, may_change=may, here=here),
        step=next_step(node),
        done=DONE.get(visit.query.text("done"), ""),
        **shown,
    )


def _offers(fleet: Fleet, node: Node) -> list[tuple[Release, tuple[str, ...]]]:
    """Return the updates of a node that needs nothing else, and what each removes."""
    if node.status not in UPDATED_IN:
        return []
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
