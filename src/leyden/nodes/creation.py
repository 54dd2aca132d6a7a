"""Creating a node: one transaction; the reconciler does the rest."""

import re
import uuid
from datetime import datetime

from leyden.base import rights
from leyden.base.database.stores import Stores
from leyden.base.rules.sign_in import Right
from leyden.errors import Malformed, Stale, Taken
from leyden.nodes import launch_specs, node_events, peer_addresses
from leyden.nodes.fleet import CERTIFICATES, EVERYTHING, NODE, Fleet
from leyden.nodes.housekeeping import announce_update
from leyden.nodes.rules import node_settings, versions
from leyden.nodes.rules.nodes import Action, Network, Node, NodeType, check_name
from leyden.nodes.views import owned_or_not_found
from leyden.people import quotas
from leyden.values import Struct

SUFFIX = "N"  # at the end of a node's id

_NOT_FOR_A_LABEL = re.compile(r"[^a-z0-9]+")
_LONGEST_WORDS = 40
# Of 65,000 slots nearly all are free; with 10,000 taken one in six guesses is wrong.
_GUESSES = 100


class NodeParameters(Struct, frozen=True, kw_only=True):
    """The parameters of a node to create."""

    name: str
    network: Network
    type: NodeType
    version: str | None
    settings: object  # as it came; checked here


async def create(
    fleet: Fleet,
    organization_id: str,
    parameters: NodeParameters,
    *,
    key: uuid.UUID,
    actor: str,
    now: datetime,
) -> Node:
    """Create a node and queue its start.

    A second call with the same key returns the node that the first created.
    """
    rules = fleet.rules
    name = check_name(parameters.name)
    if parameters.network not in rules.networks:
        raise Malformed(
            f"network: {parameters.network} is not available on this platform; choose "
            f"{' or '.join(sorted(rules.networks)) or 'another platform'}"
        )
    settings = node_settings.parse(
        parameters.settings,
        webhooks=rules.webhooks,
        calls=rules.calls,
        listen=bool(rules.peer_ports),
    )
    peer_addresses.check(rules, settings)
    version = versions.choose(parameters.version, rules.catalogue)
    node_id = f"{key}{SUFFIX}"
    async with fleet.database.transaction() as tx:
        await rights.check(tx, actor, organization_id, Right.NODES)
        node = Node(
            id=node_id,
            organization_id=organization_id,
            name=name,
            network=parameters.network,
            type=parameters.type,
            version=version,
            settings=node_settings.without_secrets(settings),
            api_endpoint=_endpoint(name, node_id, rules.domain),
            slot=await _free_slot(tx, key, rules.slots),
            created=now,
            due=now,
            runtime=rules.runtime,
        )
        if not await tx.nodes.add(node):
            return await _made_before(tx, node)
        await quotas.check_nodes(tx, rules.quotas, organization_id)
        with_port = await peer_addresses.adjust(tx, fleet, node, now=now)
        if with_port != node:
            await tx.nodes.save(node, with_port)
        await tx.launch_specs.add(launch_specs.new(fleet, node, settings))
        await tx.commands.add(node.id, Action.CREATE, at=now, actor=actor)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="node created",
            subject=node.id,
            organization_id=organization_id,
            name=name,
            version=str(version),
        )
        tx.events.add(node_events.of_new(node), at=now)
        await announce_update(fleet, tx, node, now=now)
        await tx.tasks.put(NODE, node.id, due=now)
        if rules.issued:
            await tx.tasks.put(CERTIFICATES, EVERYTHING, due=now)
    return node


def _endpoint(name: str, node_id: str, domain: str) -> str:
    """Return an endpoint that names the node and is never used again."""
    words = _NOT_FOR_A_LABEL.sub("-", name.lower())[:_LONGEST_WORDS].strip("-")
    first, second, *_ = node_id.lower().split("-")
    unique = f"{first}{second}"
    return f"{words}-{unique}.{domain}" if words else f"node-{unique}.{domain}"


async def _free_slot(tx: Stores, key: uuid.UUID, slots: int) -> int:
    for guess in range(_GUESSES):
        # Another stride than 1, so that neighbours do not queue up behind each other.
        slot = 1 + (key.int + guess * 7_919) % slots
        if await tx.nodes.is_free(slot):
            return slot
    raise Stale("no free slot was found")


async def _made_before(tx: Stores, node: Node) -> Node:
    made = await tx.nodes.find(node.id)
    if made is not None:
        return owned_or_not_found(made, node.organization_id)
    if await tx.nodes.find_by_name(node.organization_id, node.name) is not None:
        raise Taken(
            f"name: a node named {node.name!r} already exists; choose another name"
        )
    raise Stale("another node was given the slot or the endpoint meanwhile")
