"""What pages about nodes share."""

from leyden.domain.sign_in import Right
from leyden.errors import NodeAway
from leyden.services.fleet import Fleet
from leyden.web.visits import Visit


def fleet_of(visit: Visit) -> Fleet:
    """Give the fleet, where nodes are run at all."""
    if (fleet := visit.platform.fleet) is None:
        raise NodeAway("No nodes are run here.")
    return fleet


def which(visit: Visit) -> tuple[str, str]:
    """Say which node of whom a page is about."""
    return visit.organization_id, visit.path["node_id"]


def node_root(visit: Visit) -> str:
    """Give what the addresses of this node's pages begin with."""
    return f"{visit.root}/nodes/{visit.path['node_id']}"


def may_change(visit: Visit) -> bool:
    """Tell whether whoever is there may change nodes here."""
    return visit.may(Right.NODES)
