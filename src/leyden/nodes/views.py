"""Listing nodes, and reading one's own."""

import json
from collections.abc import Sequence

from leyden.errors import NotFound
from leyden.events.rows.subscriptions import webhook_secret_purpose
from leyden.nodes import launch_specs
from leyden.nodes.fleet import Fleet
from leyden.nodes.rows.commands import Command
from leyden.nodes.rules import node_settings
from leyden.nodes.rules.nodes import Node, NodeListing, Stamp
from leyden.values import Struct


class NodeView(Struct, frozen=True, kw_only=True):
    """A node as shown to its owner."""

    node: Node
    settings: dict[str, object]
    history: Sequence[Command]


class ShownNode(Struct, frozen=True, kw_only=True):
    """What the API shows of a node."""

    listed: NodeListing
    settings: dict[str, object]
    history: Sequence[Command]


async def list_(fleet: Fleet, organization_id: str) -> list[NodeListing]:
    """List an organization's nodes, oldest first."""
    return await fleet.database.reader.nodes.list_(organization_id)


async def show(fleet: Fleet, organization_id: str, node_id: str) -> ShownNode:
    """Return a node with its settings, as the API shows them, and its commands."""
    rows, opened = fleet.database.reader, fleet.sealer.open
    found = await rows.nodes.show(organization_id, node_id)
    secrets = opened(
        found.sealed_settings, purpose=launch_specs.settings_purpose(node_id)
    )
    secret = opened(found.webhook_secret, purpose=webhook_secret_purpose(node_id))
    return ShownNode(
        listed=found.listed,
        settings=node_settings.show(
            node_settings.with_secrets(found.settings, json.loads(secrets)),
            webhook_secret=secret.decode(),
        ),
        history=await rows.commands.list_(node_id),
    )


async def stamp(fleet: Fleet, organization_id: str, node_id: str) -> Stamp:
    """Return the stamp of a node's `view`; raise NotFound as `view` does."""
    return await fleet.database.reader.nodes.stamp(organization_id, node_id)


async def view(fleet: Fleet, organization_id: str, node_id: str) -> NodeView:
    """Return a node with its settings, as shown, and its activity."""
    shown = await show(fleet, organization_id, node_id)
    node = await get(fleet, organization_id, node_id)
    return NodeView(
        node=node,
        settings=shown.settings,
        history=shown.history,
    )


async def get(fleet: Fleet, organization_id: str, node_id: str) -> Node:
    """Return the organization's node; raise NotFound if another's or deleted."""
    found = await fleet.database.reader.nodes.find(node_id)
    return owned_or_not_found(found, organization_id)


def owned_or_not_found(node: Node | None, organization_id: str) -> Node:
    """Return the node; raise the same NotFound if missing or another's."""
    if node is None or node.organization_id != organization_id or node.is_gone:
        raise NotFound
    return node


async def certificate(fleet: Fleet, organization_id: str, node_id: str) -> bytes:
    """Return the chain that clients of a node must trust, as PEM."""
    node = await get(fleet, organization_id, node_id)
    served = (await fleet.database.reader.launch_specs.get(node_id)).certificate
    return await trusted_by_clients(fleet, node, served)


async def trusted_by_clients(fleet: Fleet, node: Node, served: bytes) -> bytes:
    """Return the certificates that clients of this node must trust, as PEM.

    The chain goes up to the root. With an external authority, a start may change
    which authority signs the certificate. Both roots are included then, so
    that a file saved earlier keeps working. So is the root of an authority
    from before a rotation, until no node shows it.
    """
    trusted = up_to_root(fleet, served)
    if fleet.authority.issued(served):
        trusted += fleet.authority.others(served)
    if not fleet.rules.issued:
        return trusted
    if not fleet.authority.issued(served):
        return trusted + fleet.authority.anchors_pem
    other = await fleet.database.reader.issued.find(node.api_endpoint)
    return trusted + (
        fleet.roots.root_of(other.chain) if other and other.chain else b""
    )


async def anchor(fleet: Fleet, node: Node) -> bytes:
    """Return the last certificate of the node's chain: the root if known."""
    launch_spec = await fleet.database.reader.launch_specs.get(node.id)
    return up_to_root(fleet, launch_spec.certificate)


def up_to_root(fleet: Fleet, chain: bytes) -> bytes:
    """Return the chain, with its root appended if we know the root."""
    known_chain = fleet.authority.trusted(chain)
    return known_chain + fleet.roots.root_of(known_chain)
