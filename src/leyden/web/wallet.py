"""Pages on which keys are made and used: in the browser, against the node itself.

What is rendered here knows the node and its address, and never a key.
"""

from types import MappingProxyType
from typing import Final

from starlette.responses import Response

from leyden.domain.nodes import Status
from leyden.services import connecting, nodes
from leyden.web import changes as changing
from leyden.web import node
from leyden.web.fleet import fleet_of, node_root, which
from leyden.web.visits import Handler, Visit, go

# Each is a template, and a module of scripts, of its name.
PAGES: Final = MappingProxyType(
    {
        "initialise": "Initialise",
        "restore": "Restore",
        "unlock": "Unlock",
        "password": "Change password",
        "channels": "Channels",
        "bakery": "Macaroon Bakery",
        "vault": "Vault",
    }
)
_FIRST: Final = {Status.WAITING_INIT: "initialise", Status.WAITING_UNLOCK: "unlock"}


async def first(visit: Visit) -> Response:
    """Go to what the wallet waits for, or else to who may use it."""
    there = await nodes.get(fleet_of(visit), *which(visit))
    return go(f"{node_root(visit)}/wallet/{_FIRST.get(there.status, 'bakery')}")


def page(name: str) -> Handler:
    """Give the page of this name."""

    async def show(visit: Visit) -> Response:
        fleet = fleet_of(visit)
        stamp = await nodes.stamp(fleet, *which(visit))
        way = await connecting.connect(fleet, *which(visit))
        return node.render(
            visit,
            f"wallet/{name}.html",
            way.node,
            mark=changing.mark(stamp),
            page=name,
            pages=PAGES,
            way=way,
            fingerprint=fleet.authority.fingerprint,
        )

    return show
