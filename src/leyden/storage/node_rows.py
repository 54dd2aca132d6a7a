"""Conversion of nodes to rows, and of rows to nodes."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from leyden.domain.node_settings import NodeSettings
from leyden.domain.nodes import (
    DesiredState,
    Listed,
    Network,
    Node,
    PurchasedType,
    PurchaseStatus,
    RuntimeName,
    Status,
    Type,
)
from leyden.domain.times import from_us, to_us
from leyden.domain.versions import Version
from leyden.storage.statements import Row, Value

_write = msgspec.json.Encoder().encode
settings_of = msgspec.json.Decoder(NodeSettings).decode


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
    ) = row
    return Node(
        id=id_,
        organization_id=organization_id,
        name=name,
        network=Network(network),
        type=Type(type_),
        version=Version.of(version),
        settings=settings_of(settings),
        api_endpoint=api_endpoint,
        slot=slot or 0,
        created=from_us(created),
        status=Status(status),
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
    )


def listed_of(row: Row) -> Listed:
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
        edition,
        peer_port,
        onion,
    ) = row
    return Listed(
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
        edition=edition,
        peer_port=peer_port or 0,
        onion=onion,
    )


def _us(when: datetime | None) -> int | None:
    return None if when is None else to_us(when)


def _time(us: int | None) -> datetime | None:
    return None if us is None else from_us(us)
