"""Peer addresses: the public port of each node, at which its peers reach it."""

import logging
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Final

from leyden.base.database.stores import Stores
from leyden.errors import Conflict, Malformed
from leyden.nodes.fleet import Fleet, FleetSettings
from leyden.nodes.onions import onions
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.peer_ports import KEPT_FROM_OTHERS, PeerPorts
from leyden.values import replace

# Of a small range each port, of a large one enough: with nine tenths taken, one time in
# 37,000 none of so many is free, and all are looked at.
_GUESSES: Final = 100
_STRIDE: Final = 7_919  # neighbours do not queue up behind each other
_FEW: Final = 10  # fewer than a tenth are few

log = logging.getLogger(__name__)


def check(rules: FleetSettings, settings: NodeSettings) -> None:
    """Raise if a node is to have a peer address where there are none."""
    if settings.listen and not rules.peer_ports:
        raise Malformed("listen: must be false: this platform has no peer addresses")


async def left(rows: Stores, rules: FleetSettings, *, now: datetime) -> int:
    """Return how many ports no node has had for as long as they are kept."""
    taken = await rows.peer_ports.count(since=now - KEPT_FROM_OTHERS)
    return max(0, len(rules.peer_ports) - taken)


async def alarm(rows: Stores, rules: FleetSettings, *, now: datetime) -> str:
    """Return what to do where few ports are left; "" where there are enough."""
    every = len(rules.peer_ports)
    free = await left(rows, rules, now=now) if every else 0
    if free * _FEW >= every:
        return ""
    return (
        f"{free:,} of {every:,} peer ports are left: add more to peer_ports, or the "
        "platform can't create nodes with a peer address"
    )


async def adjust(tx: Stores, fleet: Fleet, node: Node, *, now: datetime) -> Node:
    """Return the node with the peer addresses that its settings ask for, or without."""
    if not node.settings.listen:
        return node.without_peers(now)
    if node.open_peer_port:
        return node
    ports, port = fleet.rules.peer_ports, node.peer_port
    if port not in ports:  # else it is its own from before
        port = await _free(tx, ports, node, now=now)
    after = replace(node, peer_port=port, peer_port_released=None)
    return await onions.assign(tx, fleet, after)


async def _free(tx: Stores, ports: PeerPorts, node: Node, *, now: datetime) -> int:
    """Return a port that no node has, taken over from one that is gone if need be.

    The organization's own come first: so it never occupies more ports than it had
    nodes at a time, however many it creates and deletes.
    """
    until = now - KEPT_FROM_OTHERS
    async for port in _used_before(tx, ports, node):
        await tx.peer_ports.take_over(port, node.organization_id, until=until)
        return port
    for port in _guesses(ports, node):
        if await tx.peer_ports.is_free(port):
            return port
    taken = await tx.peer_ports.all_()
    for port in ports:
        if port not in taken:
            return port
    for port in await tx.peer_ports.released(until=until):
        if port in ports:
            await tx.peer_ports.take_over(port, node.organization_id, until=until)
            return port
    log.warning("all peer ports are in use", extra={"peer_ports": len(ports)})
    raise Conflict(
        f"listen: all {len(ports):,} peer ports of this platform are in use; set "
        "listen to false, or ask the operator for more (peer_ports)"
    )


async def _used_before(tx: Stores, ports: PeerPorts, node: Node) -> AsyncIterator[int]:
    for port in await tx.peer_ports.of_deleted(node.organization_id):
        if port in ports:
            yield port


def _guesses(ports: PeerPorts, node: Node) -> Iterator[int]:
    for guess in range(min(_GUESSES, len(ports))):
        yield ports.at((node.slot + guess * _STRIDE) % len(ports))
