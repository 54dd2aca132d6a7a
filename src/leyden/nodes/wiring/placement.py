"""The placement of nodes on this machine: addresses, users, and held shares."""

import ipaddress
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.rules.nodes import NodeType
from leyden.nodes.runtimes.local.cgroups import Cgroups
from leyden.nodes.runtimes.local.placement import (
    MIB,
    SHARES,
    Placement,
    Share,
    can_be_reached,
    may_give_users,
)
from leyden.values import replace

_FIRST_UID_OF_ROOT: Final = 3 << 16
_MAX_SLOTS: Final = 65_000

log = logging.getLogger(__name__)


def make_placement(settings: Settings, root: Path) -> Placement:
    """Return the placement of nodes: address, share, and a user each if possible."""
    first_uid = settings.nodes_first_uid or None
    if first_uid is None and may_give_users():
        root.mkdir(parents=True, exist_ok=True)
        for folder in (root.parent, root):
            folder.chmod(0o711)
        if can_be_reached(root):
            first_uid = _FIRST_UID_OF_ROOT
        else:
            log.warning(
                "nodes share our user: other users can't pass through the home folder",
                extra={"home": str(settings.home_path)},
            )
    return Placement(
        network=_network(settings.nodes_addresses),
        rest_port=settings.node_rest_port,
        grpc_port=settings.node_grpc_port,
        peer_port=settings.node_peer_port,
        first_uid=first_uid,
        shares=dict(shares(settings)),
    )


def shares(settings: Settings) -> Iterator[tuple[NodeType, Share]]:
    """Yield the share of each type."""
    yield (
        NodeType.STANDARD,
        replace(
            SHARES[NodeType.STANDARD],
            memory=settings.standard_memory_mb * MIB,
            weight=settings.standard_weight,
            cpus=settings.standard_cpus,
        ),
    )
    yield (
        NodeType.PROFESSIONAL,
        replace(
            SHARES[NodeType.PROFESSIONAL],
            memory=settings.professional_memory_mb * MIB,
            weight=settings.professional_weight,
            cpus=settings.professional_cpus,
        ),
    )


def make_cgroups(settings: Settings) -> Cgroups | None:
    """Return what holds nodes to their shares, if anything can."""
    if settings.nodes_cgroups == "off":
        log.warning("nodes run without resource limits: nodes_cgroups is off")
        return None
    found = Cgroups(settings.home_path)
    try:
        found.prepare()
    except SetupError as error:
        if settings.nodes_cgroups == "required":
            raise SetupError(f"nodes_cgroups: {error.message}") from None
        log.warning("nodes run without resource limits", extra={"why": error.message})
        return None
    return found


def slots(settings: Settings) -> int:
    """Return the number of nodes that there are addresses for."""
    return min(_MAX_SLOTS, _network(settings.nodes_addresses).num_addresses - 2)


def _network(text: str) -> ipaddress.IPv4Network:
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError as error:
        raise SetupError(f"nodes_addresses: {error}") from None
    if not network.is_loopback:
        raise SetupError("nodes_addresses: must lie within 127.0.0.0/8")
    return network
