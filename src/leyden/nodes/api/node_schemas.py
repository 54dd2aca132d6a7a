"""Nodes, as the API shows them."""

import msgspec

from leyden.base.rules.times import to_iso
from leyden.nodes.rows.nodes import Deleted
from leyden.nodes.rules.nodes import Node, NodeListing
from leyden.nodes.views import ShownNode
from leyden.schemas.deleted_nodes import DeletedNode
from leyden.schemas.node_settings import SettingsAnswer
from leyden.schemas.nodes import CommandItem, CreatedNode, NodeAnswer, NodeItem


def item(
    listed: NodeListing,
    *,
    service_version: str,
    update_available: bool,
    peer_address: str,
    onion_address: str,
) -> NodeItem:
    """Build a node's entry for lists."""
    return NodeItem(
        node_name=listed.name,
        status=listed.status,
        node_id=listed.id,
        expires="never" if listed.expires is None else to_iso(listed.expires),
        created=to_iso(listed.created),
        type=listed.type,
        purchased_type=listed.purchased_type,
        purchase_status=listed.purchase_status,
        api_endpoint=listed.api_endpoint,
        network=listed.network,
        lnd_version=listed.version,
        service_version=service_version,
        update_available=update_available,
        peer_address=peer_address,
        onion_address=onion_address,
        unknown_since=(
            msgspec.UNSET
            if listed.unknown_since is None
            else to_iso(listed.unknown_since)
        ),
    )


def single(shown: ShownNode, item: NodeItem) -> NodeAnswer:
    """Build a node's full response."""
    return NodeAnswer(
        **msgspec.structs.asdict(item),
        command_history=[
            CommandItem(action=each.action, time=to_iso(each.at))
            for each in shown.history
        ],
        settings=msgspec.convert(shown.settings, SettingsAnswer),
        status_reason=shown.listed.reason or msgspec.UNSET,
    )


def deleted(node: Deleted) -> DeletedNode:
    """Build a deleted node's entry."""
    return DeletedNode(
        node_name=node.name,
        node_id=node.id,
        network=node.network,
        lnd_version=node.version,
        created=to_iso(node.created),
        deleted=to_iso(node.deleted),
        restorable_until=to_iso(node.until),
    )


def created(node: Node) -> CreatedNode:
    """Build the response for a created node."""
    return CreatedNode(
        node_id=node.id,
        owner_id=node.organization_id,
        network=node.network,
        created=to_iso(node.created),
        purchased_type=node.purchased_type,
        type=node.type,
    )
