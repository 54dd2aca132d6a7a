"""Pages that create and use keys in the browser, talking to the node.

What is rendered here knows the node and its address, and never a key.
"""

from typing import Final

from starlette.responses import Response

from leyden.base.pages import changes as changing
from leyden.base.pages.origins import CAMERA
from leyden.base.pages.visits import Handler, Visit, redirect
from leyden.nodes import connecting, views
from leyden.nodes.pages import node, node_tabs
from leyden.nodes.pages.fleet import fleet_of, node_root, which
from leyden.nodes.pages.recipes import RECIPES

PAGES: Final = node_tabs.WALLET
_LEASES: Final = 1_000  # of an organization, among which a node's channels are found


async def first(visit: Visit) -> Response:
    """Redirect to the first of the wallet's pages that can be used now."""
    view = await views.get(fleet_of(visit), *which(visit))
    usable = [*node_tabs.of_wallet(view), "vault"]
    return redirect(f"{node_root(visit)}/wallet/{usable[0]}")


def page(name: str) -> Handler:
    """Return the handler of the page of this name."""

    async def show(visit: Visit) -> Response:
        fleet = fleet_of(visit)
        stamp = await views.stamp(fleet, *which(visit))
        way = await connecting.connect(fleet, *which(visit))
        response = node.render(
            visit,
            f"wallet/{name}.html",
            way.node,
            mark=changing.mark(stamp),
            page=name,
            pages=node_tabs.of_wallet(way.node, here=name),
            title=PAGES[name],
            way=way,
            authority=fleet.authority,
            recipes=RECIPES,
            sells_direct=visit.platform.sells_direct,
            wraps_invoices=visit.platform.wraps_invoices,
            leases=await _leases(visit) if name == "channels" else {},
        )
        if name == "send":
            response.headers.update(CAMERA)
        return response

    return show


async def _leases(visit: Visit) -> dict[str, dict[str, str | int]]:
    """Return what this organization bought, by channel point.

    Which of the channels are this node's, only its owner's browser knows.
    """
    found = await visit.rows.leases.of_organization(
        visit.organization_id, limit=_LEASES
    )
    return {
        point: {"order": f"{visit.root}/channels/{order_id}", "ends": ends}
        for point, (order_id, ends) in found.items()
    }
