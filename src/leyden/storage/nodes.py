"""Nodes as they are kept."""

import asyncio
from collections.abc import Mapping
from datetime import datetime

import msgspec

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
from leyden.storage.written import nodes as sql

_write = msgspec.json.Encoder().encode
_read = msgspec.json.Decoder(NodeSettings).decode
# Nobody else waits for longer than these few take: 50 µs each.
_AT_A_TIME = 50


class Nodes:
    """The rows of node."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, node: Node) -> bool:
        """Keep a new node; False when its id, name, endpoint or slot is in use."""
        return bool(
            await self._run(
                sql.ADD,
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
        rows = await self._run(sql.GET, node_id=node_id)
        return _node(rows[0]) if rows else None

    async def get(self, node_id: str) -> Node:
        """Give the node, or NotFound."""
        if (node := await self.find(node_id)) is None:
            raise NotFound
        return node

    async def lock(self, node_id: str) -> Node:
        """Give the node, and let nobody else decide about it until the commit."""
        if not (rows := await self._run(sql.LOCK, node_id=node_id)):
            raise NotFound
        return _node(rows[0])

    async def list_(self, organization_id: str) -> list[Listed]:
        """Give an organization's nodes, oldest first, as lists show them."""
        return [
            _listed(row)
            for row in await self._run(sql.LIST, organization_id=organization_id)
        ]

    async def stamps(self, organization_id: str) -> list[Stamp]:
        """Give the stamps of what `list_` gives, in that order."""
        return await self._run(sql.STAMPS, organization_id=organization_id)

    async def stamp(self, organization_id: str, node_id: str) -> Stamp:
        """Give the stamp of all that one node shows; NotFound when it is not theirs."""
        rows = await self._run(
            sql.STAMP, organization_id=organization_id, node_id=node_id
        )
        if not rows:
            raise NotFound
        return rows[0]

    async def find_by_name(self, organization_id: str, name: str) -> str | None:
        """Give the id of the organization's node of this name."""
        rows = await self._run(sql.BY_NAME, organization_id=organization_id, name=name)
        return rows[0][0] if rows else None

    async def is_free(self, slot: int) -> bool:
        """Tell whether no node has this slot."""
        return not await self._run(sql.BY_SLOT, slot=slot)

    async def all_(self) -> list[Node]:
        """Give every node of which something is left."""
        found = []
        for number, row in enumerate(await self._run(sql.WHAT_IS_LEFT), start=1):
            found.append(_node(row))
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        return found

    async def of_shard(self, shard: int, *, shards: int) -> list[Node]:
        """Give every node of a shard of which something is left."""
        found = []
        rows = await self._run(sql.OF_SHARD, shard=shard, shards=shards)
        for number, row in enumerate(rows, start=1):
            found.append(_node(row))
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        return found

    async def editions(self) -> dict[str, int]:
        """Give the edition of each node that should be there, by id."""
        return dict(await self._run(sql.EDITIONS))

    async def save(self, before: Node, after: Node) -> None:
        """Write what may change; Stale when the node has changed since it was read."""
        if not await self._run(
            sql.SAVE,
            node_id=before.id,
            was=before.edition,
            **{"is": before.edition + 1},
            **_mutable(after),
        ):
            raise Stale(f"node {before.id} has changed meanwhile")

    async def vacate(self, node_id: str) -> None:
        """Give the slot back: nothing is left of the node."""
        await self._run(sql.VACATE, node_id=node_id)


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
        "has_wallet": int(node.has_wallet),
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
        has_wallet,
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
        has_wallet=bool(has_wallet),
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
