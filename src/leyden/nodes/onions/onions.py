"""Onion addresses of nodes, where the operator runs Tor.

A node gets its key with its peer port, in the same transaction; Tor gets the
service later, by one process at a time:

1. Create keys for nodes that are older than the setting.
2. Ask Tor for its services, and plan the changes (nodes/rules/onions.py).
3. Add what is missing to Tor, and store where each service leads.

After a kill before that is stored, the next run adds the service again. A restarted
Tor has no services: the next run adds all of them. Nothing waits for Tor, and no node
starts later without it.
"""

import logging
import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import NotFound, TorAway
from leyden.nodes.changes import change
from leyden.nodes.fleet import Fleet
from leyden.nodes.onions.base import Tor
from leyden.nodes.rules import onions
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.onions import SEED_BYTES, Onion
from leyden.nodes.rules.peer_ports import host_port
from leyden.values import replace

# Nobody waits for less: a service that is new takes Tor a minute to announce.
_LOOK_EVERY: Final = timedelta(seconds=10)

log = logging.getLogger(__name__)


async def assign(tx: Stores, fleet: Fleet, node: Node) -> Node:
    """Return the node with an onion address if it is to have one; store its key.

    It keeps the first for its life, also while it does not listen.
    """
    if fleet.tor is None or node.onion or not node.open_peer_port:
        return node
    seed = secrets.token_bytes(SEED_BYTES)
    sealed = fleet.sealer.seal(seed, purpose=seed_purpose(node.id))
    await tx.node_onions.add(node.id, sealed)
    return replace(node, onion=onions.host_of(seed))


def seed_purpose(node_id: str) -> str:
    """Return what the key of a node's onion service is sealed for."""
    return f"onion key of {node_id}"


class Onions:
    """Keeps Tor's services in step with the nodes that listen for peers."""

    def __init__(self, fleet: Fleet, tor: Tor) -> None:
        self._fleet = fleet
        self._tor = tor
        self._why = ""  # Tor is away, as last logged

    async def run(self, work: ClaimedTask) -> None:
        """Update Tor's services, and schedule the next check."""
        nodes = await self._assigned(work)
        try:
            await self._update(work, nodes)
            self._log("")
        except TorAway as error:
            self._log(error.message)
        async with work.transaction() as tx:
            await work.reschedule(tx, due=self._fleet.clock() + _LOOK_EVERY)

    async def _assigned(self, work: ClaimedTask) -> dict[str, Node]:
        """Return the nodes that listen, by their onion address, which all get now."""
        fleet, found = self._fleet, {}
        for known in await fleet.node_cache.nodes(fleet.database.reader.nodes):
            node = known
            if node.open_peer_port and not node.onion:
                async with work.transaction() as tx:
                    before = await tx.nodes.lock(node.id)
                    after = await assign(tx, fleet, before)
                    node = await change(tx, before, after, now=fleet.clock())
            if node.open_peer_port and node.onion:
                found[node.onion] = node
        return found

    async def _update(self, work: ClaimedTask, nodes: Mapping[str, Node]) -> None:
        reader, target = self._fleet.database.reader, self._fleet.rules.ports.tor_target
        present = (await self._tor.status()).hosts
        known = await reader.node_onions.targets()
        unplanned = present - nodes.keys()
        gone = await reader.node_onions.ours(unplanned) if unplanned else set()
        plan = onions.plan(
            {host: host_port(target, each.peer_port) for host, each in nodes.items()},
            known={host: known.get(each.id, "") for host, each in nodes.items()},
            present=present,
            ours=gone | (present & nodes.keys()),
        )
        for host in plan.remove:
            await self._tor.remove(host)
            log.info("onion service removed", extra={"onion": host})
        for host in plan.add:
            await self._add(work, nodes[host], known.get(nodes[host].id, ""))

    async def _add(self, work: ClaimedTask, node: Node, known: str) -> None:
        reader, target = self._fleet.database.reader, self._fleet.rules.ports.tor_target
        try:
            sealed = await reader.node_onions.seed(node.id)
        except NotFound:
            return  # its data was removed just now
        seed = self._fleet.sealer.open(sealed, purpose=seed_purpose(node.id))
        onion = Onion(seed=seed, to=host_port(target, node.peer_port))
        await self._tor.add(onion)
        log.info("node %s: onion service created", node.id, extra={"onion": onion.host})
        if known != onion.to:
            async with work.transaction() as tx:
                await tx.node_onions.set_target(node.id, onion.to)

    def _log(self, why: str) -> None:
        """Log once that Tor is away, and once that it is back."""
        if why and why != self._why:
            log.warning("onion addresses: waiting for Tor", extra={"why": why})
        elif self._why and not why:
            log.info("Tor is back")
        self._why = why
