"""Helpers shared by the pages about nodes."""

from leyden.base.pages.visits import Visit
from leyden.base.rules.sign_in import Right
from leyden.errors import NodeAway
from leyden.nodes.fleet import Fleet, FleetSettings


def fleet_of(visit: Visit) -> Fleet:
    """Return the fleet; raise NodeAway if this platform runs no nodes."""
    if (fleet := visit.platform.fleet) is None:
        raise NodeAway("This platform runs no nodes.")
    return fleet


def rules_of(visit: Visit) -> FleetSettings:
    """Return the rules of the fleet, where nodes are run at all."""
    return fleet_of(visit).rules


def which(visit: Visit) -> tuple[str, str]:
    """Return the organization and the node that a page is about."""
    return visit.organization_id, visit.path["node_id"]


def node_root(visit: Visit) -> str:
    """Return the prefix of the URLs of this node's pages."""
    return f"{visit.root}/nodes/{visit.path['node_id']}"


def may_change(visit: Visit) -> bool:
    """Return whether the visitor may change nodes here."""
    return visit.may(Right.NODES)
