"""Stored nodes."""

import asyncio
import re
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from leyden.base.database.statements import BEFORE_ALL, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.errors import NotFound, Stale, Violated
from leyden.nodes.rows.node_rows import listed_of, node_of, row_of, settings_of
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.nodes import Node, NodeListing, Stamp
from leyden.values import Struct, hiding

sql = SqlFile(__file__)

# The event loop runs after each batch of these: 50 µs each.
_AT_A_TIME = 50
_MAX_DELETED = 100
# As many as are read and decoded in two milliseconds.
_ROWS_AT_A_TIME = 250


class StoredNode(Struct, frozen=True, kw_only=True):
    """A single node as shown: with its settings, and its secrets sealed."""

    listed: NodeListing
    settings: NodeSettings  # without their secrets
    sealed_settings: bytes
    webhook_secret: bytes

    __repr__ = hiding("sealed_settings", "webhook_secret")


class CountOfStatus(NamedTuple):
    """The number of nodes with a status; other fields change when a node changes."""

    status: str
    nodes: int
    editions: int
    newest: int


class Deleted(Struct, frozen=True, kw_only=True):
    """A deleted node whose data is kept for a while."""

    id: str
    name: str
    network: str
    version: str
    created: datetime
    deleted: datetime
    until: datetime  # when its data is deleted


class NodeRows:
    """The rows of node."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, node: Node) -> bool:
        """Store a node; return False if id, name, endpoint or slot is in use."""
        return bool(await self._run(sql.add, **row_of(node)))

    async def find(self, node_id: str) -> Node | None:
        """Return the node, including a deleted one; None if it never existed."""
        rows = await self._run(sql.get, id=node_id)
        return node_of(rows[0]) if rows else None

    async def get(self, node_id: str) -> Node:
        """Return the node, or raise NotFound."""
        if (node := await self.find(node_id)) is None:
            raise NotFound
        return node

    async def lock(self, node_id: str) -> Node:
        """Return the node, and lock it until the transaction ends."""
        if not (rows := await self._run(sql.lock, id=node_id)):
            raise NotFound
        return node_of(rows[0])

    async def list_(self, organization_id: str) -> list[NodeListing]:
        """Return an organization's nodes for a list, oldest first.

        Many nodes are read in batches, each as of the time of its batch.
        """
        found: list[NodeListing] = []
        after, after_id = BEFORE_ALL, ""
        while True:
            rows = await self._run(
                sql.list,
                organization_id=organization_id,
                after=after,
                after_id=after_id,
                limit=_ROWS_AT_A_TIME,
            )
            found += map(listed_of, rows)
            if len(rows) < _ROWS_AT_A_TIME:
                return found
            after, after_id = to_us(found[-1].created), found[-1].id
            await asyncio.sleep(0)

    async def page(
        self,
        organization_id: str,
        *,
        status: str = "",
        name: str = "",
        skipped: int = 0,
        limit: int,
    ) -> list[NodeListing]:
        """Return a page of nodes with this status and text in the name, by age."""
        rows = await self._run(
            sql.page,
            organization_id=organization_id,
            status=status,
            name=_pattern(name),
            skipped=skipped,
            limit=limit,
        )
        return [listed_of(row) for row in rows]

    async def count(
        self, organization_id: str, *, status: str = "", name: str = ""
    ) -> int:
        """Count the nodes with this status and text in the name."""
        ((count,),) = await self._run(
            sql.count,
            organization_id=organization_id,
            status=status,
            name=_pattern(name),
        )
        return int(count)

    async def by_status(self, organization_id: str) -> list[CountOfStatus]:
        """Count an organization's nodes by status, the most frequent first."""
        rows = await self._run(sql.by_status, organization_id=organization_id)
        return sorted(
            (CountOfStatus(*row) for row in rows),
            key=lambda each: (-each.nodes, each.status),
        )

    async def taken(self, organization_id: str, names: Iterable[str]) -> set[str]:
        """Return which of these names are in use by the organization's nodes."""
        rows = await self._run(
            sql.taken, organization_id=organization_id, names=tuple(names)
        )
        return {name for (name,) in rows}

    async def show(self, organization_id: str, node_id: str) -> StoredNode:
        """Return the organization's node with its settings, or raise NotFound."""
        rows = await self._run(sql.show, organization_id=organization_id, id=node_id)
        if not rows:
            raise NotFound
        *listed, settings, sealed_settings, webhook_secret = rows[0]
        return StoredNode(
            listed=listed_of(tuple(listed)),
            settings=settings_of(settings),
            sealed_settings=sealed_settings,
            webhook_secret=webhook_secret,
        )

    async def stamp(self, organization_id: str, node_id: str) -> Stamp:
        """Return a node's stamp; raise NotFound if it is another's."""
        rows = await self._run(sql.stamp, organization_id=organization_id, id=node_id)
        if not rows:
            raise NotFound
        return rows[0]

    async def names(self, organization_id: str, ids: Iterable[str]) -> dict[str, str]:
        """Return the names of the organization's nodes among these ids."""
        rows = await self._run(
            sql.names, organization_id=organization_id, ids=tuple(ids)
        )
        return dict(rows)

    async def find_by_name(self, organization_id: str, name: str) -> str | None:
        """Return the id of the organization's node of this name, if any."""
        rows = await self._run(
            sql.find_by_name, organization_id=organization_id, name=name
        )
        return rows[0][0] if rows else None

    async def deleted(self, organization_id: str) -> list[Deleted]:
        """Return deleted nodes whose data is kept, at most 100, newest first."""
        rows = await self._run(
            sql.deleted, organization_id=organization_id, limit=_MAX_DELETED
        )
        return [
            Deleted(
                id=node_id,
                name=name,
                network=network,
                version=version,
                created=from_us(created),
                deleted=from_us(at),
                until=from_us(due),
            )
            for node_id, name, network, version, created, due, at in rows
        ]

    async def is_free(self, slot: int) -> bool:
        """Return whether no node has this placement number."""
        return not await self._run(sql.find_by_slot, slot=slot)

    async def all_(self) -> list[Node]:
        """Return every node that still has data."""
        found = []
        for number, row in enumerate(await self._run(sql.all), start=1):
            found.append(node_of(row))
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        return found

    async def find_elsewhere(self, runtime: str) -> str:
        """Return a node that is in another runtime, or moves there; "" for none."""
        rows = await self._run(sql.find_elsewhere, runtime=runtime)
        return str(rows[0][0]) if rows else ""

    async def editions(self) -> dict[str, int]:
        """Return the edition of each node that is not deleted, by id."""
        return dict(await self._run(sql.editions))

    async def save(self, before: Node, after: Node) -> None:
        """Write the changes; raise Stale if the node changed since it was read.

        Also raise Stale if another node got the same peer port meanwhile.
        """
        try:
            saved = await self._run(
                sql.save,
                **row_of(after),
                was=before.edition,
                has_new_settings=int(after.settings != before.settings),
            )
        except Violated:
            if after.peer_port == before.peer_port:
                raise
            raise Stale(f"peer port {after.peer_port} is taken") from None
        if not saved:
            raise Stale(f"node {before.id} changed in the meantime")

    async def vacate(self, node_id: str) -> None:
        """Release the placement of a node that has no data left."""
        await self._run(sql.vacate, id=node_id)


def _pattern(part: str) -> str:
    """Return the LIKE pattern for names that contain this; "" matches any name."""
    if not part:
        return ""
    literal = re.sub("[!%_]", r"!\g<0>", part.lower())
    return f"%{literal}%"
