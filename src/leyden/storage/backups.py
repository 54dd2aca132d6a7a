"""Backups that owners put here, sealed once more, and lnd's own of its channels."""

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import BigInteger, bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound, Stale
from leyden.storage.statements import Run
from leyden.storage.tables_nodes import channel_backups, macaroons, seeds

CHANNEL_BACKUPS_KEPT = 10

_ADD_SEED = insert_once(seeds).on_conflict_do_nothing().returning(seeds.c.node_id)
_GET_SEED = select(seeds.c.sealed).where(seeds.c.node_id == bindparam("node_id"))
_ADD_MACAROON = (
    insert_once(macaroons).on_conflict_do_nothing().returning(macaroons.c.name)
)
_GET_MACAROON = select(macaroons.c.sealed).where(
    macaroons.c.node_id == bindparam("node_id"), macaroons.c.name == bindparam("name")
)
_LIST_MACAROONS = (
    select(macaroons.c.name, macaroons.c.created)
    .where(macaroons.c.node_id == bindparam("node_id"))
    .order_by(macaroons.c.created, macaroons.c.name)
)
_REPLACE_SEED = (
    update(seeds)
    .where(seeds.c.node_id == bindparam("of_node"), seeds.c.sealed == bindparam("was"))
    .values(sealed=bindparam("sealed"))
    .returning(seeds.c.node_id)
)
_REPLACE_MACAROON = (
    update(macaroons)
    .where(
        macaroons.c.node_id == bindparam("of_node"),
        macaroons.c.name == bindparam("of_name"),
        macaroons.c.sealed == bindparam("was"),
    )
    .values(sealed=bindparam("sealed"))
    .returning(macaroons.c.name)
)
_ADD_CHANNELS = (
    insert_once(channel_backups)
    .values(
        node_id=bindparam("node_id"),
        taken=bindparam("taken"),
        digest=bindparam("digest"),
        content=bindparam("content"),
    )
    .on_conflict_do_nothing()
    .returning(channel_backups.c.id)
)
_of_node = channel_backups.c.node_id == bindparam("node_id")
_LATEST_CHANNELS = (
    select(channel_backups.c.taken, channel_backups.c.digest, channel_backups.c.content)
    .where(_of_node)
    .order_by(channel_backups.c.id.desc())
    .limit(1)
)
_HAS_CHANNELS = select(channel_backups.c.id).where(
    _of_node, channel_backups.c.digest == bindparam("digest")
)
_too_old = (
    select(channel_backups.c.id)
    .where(_of_node)
    .order_by(channel_backups.c.id.desc())
    .limit(1)
    .offset(bindparam("kept", type_=BigInteger))
    .scalar_subquery()
)
_FORGET_CHANNELS = delete(channel_backups).where(
    channel_backups.c.node_id == bindparam("of_node"), channel_backups.c.id <= _too_old
)
_FORGET = tuple(
    delete(table).where(table.c.node_id == bindparam("node_id"))
    for table in (seeds, macaroons, channel_backups)
)


@dataclass(frozen=True, slots=True)
class MacaroonBackup:
    """One that is kept, by its name; the value is asked for apart."""

    name: str
    created: datetime


@dataclass(frozen=True, slots=True)
class ChannelBackup:
    """lnd's own, encrypted by lnd with a key from the owner's seed."""

    taken: datetime
    digest: bytes
    content: bytes = field(repr=False)


class Backups:
    """The rows of node_seed, node_macaroon and node_channel_backup."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add_seed(self, node_id: str, sealed: bytes, *, now: datetime) -> bool:
        """Keep the one seed of a node; False when there is one already."""
        return bool(
            await self._run(
                _ADD_SEED, node_id=node_id, created=to_us(now), sealed=sealed
            )
        )

    async def seed(self, node_id: str) -> bytes:
        """Give the sealed seed, or NotFound."""
        if not (rows := await self._run(_GET_SEED, node_id=node_id)):
            raise NotFound
        sealed: bytes = rows[0][0]
        return sealed

    async def add_macaroon(
        self, node_id: str, name: str, sealed: bytes, *, now: datetime
    ) -> bool:
        """Keep a macaroon; False when the node has one of this name."""
        return bool(
            await self._run(
                _ADD_MACAROON,
                node_id=node_id,
                name=name,
                created=to_us(now),
                sealed=sealed,
            )
        )

    async def macaroon(self, node_id: str, name: str) -> bytes:
        """Give a sealed macaroon, or NotFound."""
        if not (rows := await self._run(_GET_MACAROON, node_id=node_id, name=name)):
            raise NotFound
        sealed: bytes = rows[0][0]
        return sealed

    async def replace_seed(self, node_id: str, was: bytes, sealed: bytes) -> None:
        """Put the seed in another's place; Stale when that one is not there."""
        if not await self._run(_REPLACE_SEED, of_node=node_id, was=was, sealed=sealed):
            raise Stale

    async def replace_macaroon(
        self, node_id: str, name: str, was: bytes, sealed: bytes
    ) -> None:
        """Put the macaroon in another's place; Stale when that one is not there."""
        if not await self._run(
            _REPLACE_MACAROON, of_node=node_id, of_name=name, was=was, sealed=sealed
        ):
            raise Stale

    async def macaroons(self, node_id: str) -> list[MacaroonBackup]:
        """Give what is kept, oldest first."""
        rows = await self._run(_LIST_MACAROONS, node_id=node_id)
        return [MacaroonBackup(name, from_us(created)) for name, created in rows]

    async def add_channels(
        self, node_id: str, content: bytes, digest: bytes, *, now: datetime
    ) -> bool:
        """Keep a backup of channels, and the ten latest at most; False if known."""
        added = await self._run(
            _ADD_CHANNELS,
            node_id=node_id,
            taken=to_us(now),
            digest=digest,
            content=content,
        )
        await self._run(
            _FORGET_CHANNELS,
            node_id=node_id,
            of_node=node_id,
            kept=CHANNEL_BACKUPS_KEPT,
        )
        return bool(added)

    async def has_channels(self, node_id: str, digest: bytes) -> bool:
        """Tell whether this backup of channels is kept already."""
        return bool(await self._run(_HAS_CHANNELS, node_id=node_id, digest=digest))

    async def latest_channels(self, node_id: str) -> ChannelBackup:
        """Give the newest backup of channels, or NotFound."""
        if not (rows := await self._run(_LATEST_CHANNELS, node_id=node_id)):
            raise NotFound
        taken, digest, content = rows[0]
        return ChannelBackup(from_us(taken), digest, content)

    async def forget(self, node_id: str) -> None:
        """Remove everything that was kept for a node that is no more."""
        for statement in _FORGET:
            await self._run(statement, node_id=node_id)
