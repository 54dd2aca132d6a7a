"""Nodes as they are kept."""

from collections.abc import Mapping
from datetime import datetime

import msgspec
from sqlalchemy import bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.domain.node_settings import NodeSettings
from leyden.domain.nodes import (
    Listed,
    Network,
    Node,
    PurchasedType,
    PurchaseStatus,
    Stamp,
    Status,
    Type,
    Wanted,
)
from leyden.domain.times import from_us, to_us
from leyden.domain.versions import Version
from leyden.errors import NotFound, Stale
from leyden.storage.statements import Row, Run, Value
from leyden.storage.tables_nodes import commands, nodes, outfits

_MUTABLE = (
    "version",
    "status",
    "wanted",
    "revision",
    "process",
    "launched",
    "host",
    "launched_at",
    "crashes",
    "due",
    "purchased_type",
    "purchase_status",
    "expires",
    "settings",
)

_ADD = insert_once(nodes).on_conflict_do_nothing().returning(nodes.c.id)
_GET = select(nodes).where(nodes.c.id == bindparam("node_id"))
_LOCK = _GET.with_for_update()
_LISTED = (
    nodes.c.id,
    nodes.c.name,
    nodes.c.status,
    nodes.c.expires,
    nodes.c.created,
    nodes.c.type,
    nodes.c.purchased_type,
    nodes.c.purchase_status,
    nodes.c.api_endpoint,
    nodes.c.network,
    nodes.c.version,
    nodes.c.edition,
)
# A deleted node is gone for its owner as soon as its lnd has ended.
_in_sight = (nodes.c.wanted != "deleted") | (nodes.c.process != "")
_LIST = (
    select(*_LISTED)
    .where(nodes.c.organization_id == bindparam("organization_id"), _in_sight)
    .order_by(nodes.c.created, nodes.c.id)
)
_STAMPS = _LIST.with_only_columns(nodes.c.id, nodes.c.edition)
# Secrets and commands change without the node's row: each is new when it is written.
_STAMP = (
    select(
        nodes.c.id,
        nodes.c.edition,
        outfits.c.sealed_settings,
        outfits.c.webhook_secret,
        select(func.max(commands.c.id))
        .where(commands.c.node_id == nodes.c.id)
        .scalar_subquery(),
    )
    .join(outfits, outfits.c.node_id == nodes.c.id)
    .where(
        nodes.c.id == bindparam("node_id"),
        nodes.c.organization_id == bindparam("organization_id"),
        _in_sight,
    )
)
_BY_NAME = select(nodes.c.id).where(
    nodes.c.organization_id == bindparam("organization_id"),
    nodes.c.name == bindparam("name"),
    nodes.c.wanted != "deleted",
)
_BY_SLOT = select(nodes.c.id).where(nodes.c.slot == bindparam("slot"))
_WHAT_IS_LEFT = select(nodes).where(nodes.c.slot.is_not(None)).order_by(nodes.c.id)
_EDITIONS = select(nodes.c.id, nodes.c.edition).where(
    nodes.c.slot.is_not(None), nodes.c.wanted != "deleted"
)
_SAVE = (
    update(nodes)
    .where(nodes.c.id == bindparam("node_id"), nodes.c.edition == bindparam("was"))
    .values({name: bindparam(name) for name in _MUTABLE} | {"edition": bindparam("is")})
    .returning(nodes.c.id)
)
_VACATE = update(nodes).where(nodes.c.id == bindparam("node_id")).values(slot=None)

_write = msgspec.json.Encoder().encode
_read = msgspec.json.Decoder(NodeSettings).decode


class Nodes:
    """The rows of node."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, node: Node) -> bool:
        """Keep a new node; False when its id, name, endpoint or slot is in use."""
        return bool(
            await self._run(
                _ADD,
                id=node.id,
                organization_id=node.organization_id,
                name=node.name,
                network=node.network,
                type=node.type,
                api_endpoint=node.api_endpoint,
                slot=node.slot,
                created=to_us(node.created),
                edition=node.edition,
                **_mutable(node),
            )
        )

    async def find(self, node_id: str) -> Node | None:
        """Give the node, if there is one, or was."""
        rows = await self._run(_GET, node_id=node_id)
        return _node(rows[0]) if rows else None

    async def get(self, node_id: str) -> Node:
        """Give the node, or NotFound."""
        if (node := await self.find(node_id)) is None:
            raise NotFound
        return node

    async def lock(self, node_id: str) -> Node:
        """Give the node, and let nobody else decide about it until the commit."""
        if not (rows := await self._run(_LOCK, node_id=node_id)):
            raise NotFound
        return _node(rows[0])

    async def list_(self, organization_id: str) -> list[Listed]:
        """Give an organization's nodes, oldest first, as lists show them."""
        return [
            _listed(row)
            for row in await self._run(_LIST, organization_id=organization_id)
        ]

    async def stamps(self, organization_id: str) -> list[Stamp]:
        """Give the stamps of what `list_` gives, in that order."""
        return await self._run(_STAMPS, organization_id=organization_id)

    async def stamp(self, organization_id: str, node_id: str) -> Stamp:
        """Give the stamp of all that one node shows; NotFound when it is not theirs."""
        rows = await self._run(_STAMP, organization_id=organization_id, node_id=node_id)
        if not rows:
            raise NotFound
        return rows[0]

    async def find_by_name(self, organization_id: str, name: str) -> str | None:
        """Give the id of the organization's node of this name."""
        rows = await self._run(_BY_NAME, organization_id=organization_id, name=name)
        return rows[0][0] if rows else None

    async def is_free(self, slot: int) -> bool:
        """Tell whether no node has this slot."""
        return not await self._run(_BY_SLOT, slot=slot)

    async def all_(self) -> list[Node]:
        """Give every node of which something is left."""
        return [_node(row) for row in await self._run(_WHAT_IS_LEFT)]

    async def editions(self) -> dict[str, int]:
        """Give the edition of each node that should be there, by id."""
        return dict(await self._run(_EDITIONS))

    async def save(self, before: Node, after: Node) -> None:
        """Write what may change; Stale when the node has changed since it was read."""
        if not await self._run(
            _SAVE,
            node_id=before.id,
            was=before.edition,
            **{"is": before.edition + 1},
            **_mutable(after),
        ):
            raise Stale(f"node {before.id} has changed meanwhile")

    async def vacate(self, node_id: str) -> None:
        """Give the slot back: nothing is left of the node."""
        await self._run(_VACATE, node_id=node_id)


def _mutable(node: Node) -> Mapping[str, Value]:
    return {
        "version": str(node.version),
        "status": node.status,
        "wanted": node.wanted,
        "revision": node.revision,
        "process": node.process,
        "launched": node.launched,
        "host": node.host,
        "launched_at": _us(node.launched_at),
        "crashes": node.crashes,
        "due": to_us(node.due),
        "purchased_type": node.purchased_type,
        "purchase_status": node.purchase_status,
        "expires": _us(node.expires),
        "settings": _write(node.settings).decode(),
    }


def _node(row: Row) -> Node:
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
    ) = row
    return Node(
        id=id_,
        organization_id=organization_id,
        name=name,
        network=Network(network),
        type=Type(type_),
        version=Version.of(version),
        settings=_read(settings),
        api_endpoint=api_endpoint,
        slot=slot or 0,
        created=from_us(created),
        status=Status(status),
        wanted=Wanted(wanted),
        revision=revision,
        process=process,
        launched=launched,
        host=host,
        launched_at=_time(launched_at),
        crashes=crashes,
        due=from_us(due),
        purchased_type=PurchasedType(purchased_type),
        purchase_status=PurchaseStatus(purchase_status),
        expires=_time(expires),
        edition=edition,
    )


def _listed(row: Row) -> Listed:
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
    )


def _us(when: datetime | None) -> int | None:
    return None if when is None else to_us(when)


def _time(us: int | None) -> datetime | None:
    return None if us is None else from_us(us)
