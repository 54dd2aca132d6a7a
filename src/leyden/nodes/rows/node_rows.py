"""Conversion of nodes to rows, and of rows to nodes."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from leyden.base.database.statements import Row, Value
from leyden.base.rules.times import from_us, to_us
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.nodes import (
    DesiredState,
    Network,
    Node,
    NodeListing,
    NodeStatus,
    NodeType,
    PurchasedType,
    PurchaseStatus,
    RuntimeName,
    Trouble,
    Unknown,
    reason_of,
)
from leyden.nodes.rules.versions import Version

_write = msgspec.json.Encoder().encode
settings_of = msgspec.json.Decoder(NodeSettings).decode
_trouble_of = msgspec.json.Decoder(Trouble).decode
_unknown_of = msgspec.json.Decoder(Unknown).decode


def row_of(node: Node) -> Mapping[str, Value]:
    """Convert the node to a row."""
    return {
        "id": node.id,
        "organization_id": node.organization_id,
        "name": node.name,
        "network": node.network,
        "type": node.type,
        "version": str(node.version),
        "api_endpoint": node.api_endpoint,
        "slot": node.slot,
        "created": to_us(node.created),
        "status": node.status,
        "wanted": node.wanted,
        "revision": node.revision,
        "process": node.process,
        "launched": node.launched_revision,
        "host": node.host,
        "launched_at": _us(node.launched_at),
        "crashes": node.crashes,
        "due": to_us(node.due),
        "purchased_type": node.purchased_type,
        "purchase_status": node.purchase_status,
        "expires": _us(node.expires),
        "edition": node.edition,
        "settings": _write(node.settings).decode(),
        "has_wallet": int(node.has_wallet),
        "peer_port": node.peer_port or None,
        "peer_port_released": _us(node.peer_port_released),
        "runtime": node.runtime,
        "moves_to": node.moves_to or "",
        "onion": node.onion,
        "trouble": _write(node.trouble).decode() if node.trouble else "",
        "unknown": _write(node.unknown).decode() if node.unknown else "",
    }


def node_of(row: Row) -> Node:
    """Build the node from a row."""
    # In the order of the table's columns.
    (
        id_,
        organization_id,
        name,
        network,
        type_,
        version,
        api_endpoint,
        slot,
        created,
        status,
        wanted,
        revision,
        process,
        launched,
        host,
        launched_at,
        crashes,
        due,
        purchased_type,
        purchase_status,
        expires,
        edition,
        settings,
        has_wallet,
        peer_port,
        peer_port_released,
        runtime,
        moves_to,
        onion,
        trouble,
        unknown,
    ) = row
    return Node(
        id=id_,
        organization_id=organization_id,
        name=name,
        network=Network(network),
        type=NodeType(type_),
        version=Version.of(version),
        settings=settings_of(settings),
        api_endpoint=api_endpoint,
        slot=slot or 0,
        created=from_us(created),
        status=NodeStatus(status),
        wanted=DesiredState(wanted),
        revision=revision,
        process=process,
        launched_revision=launched,
        host=host,
        launched_at=_time(launched_at),
        crashes=crashes,
        due=from_us(due),
        purchased_type=PurchasedType(purchased_type),
        purchase_status=PurchaseStatus(purchase_status),
        expires=_time(expires),
        edition=edition,
        has_wallet=bool(has_wallet),
        peer_port=peer_port or 0,
        peer_port_released=_time(peer_port_released),
        runtime=RuntimeName(runtime),
        moves_to=RuntimeName(moves_to) if moves_to else None,
        onion=onion,
        trouble=trouble_of(trouble),
        unknown=unknown_of(unknown),
    )


def trouble_of(text: str) -> Trouble | None:
    """Decode the column of a node's trouble."""
    return _trouble_of(text) if text else None


def unknown_of(text: str) -> Unknown | None:
    """Decode the column that says that a node is unknown."""
    return _unknown_of(text) if text else None


def listed_of(row: Row) -> NodeListing:
    """Build the listed form of a node from a row."""
    (
        id_,
        name,
        status,
        expires,
        created,
        type_,
        purchased_type,
        purchase_status,
        api_endpoint,
        network,
        version,
        peer_port,
        onion,
        trouble,
        unknown,
    ) = row
    known = unknown_of(unknown)
    return NodeListing(
        id=id_,
        name=name,
        status=status,
        expires=_time(expires),
        created=from_us(created),
        type=type_,
        purchased_type=purchased_type,
        purchase_status=purchase_status,
        api_endpoint=api_endpoint,
        network=network,
        version=version,
        peer_port=peer_port or 0,
        onion=onion,
        reason=reason_of(status, trouble_of(trouble)),
        unknown_since=None if known is None else known.since,
    )


def _us(when: datetime | None) -> int | None:
    return None if when is None else to_us(when)


def _time(us: int | None) -> datetime | None:
    return None if us is None else from_us(us)
