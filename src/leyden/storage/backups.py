"""Backups that owners put here, sealed once more, and lnd's own of its channels."""

from datetime import datetime

from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound, Stale
from leyden.storage.statements import Run
from leyden.storage.written import backups as sql
from leyden.values import Struct, hiding

CHANNEL_BACKUPS_KEPT = 10


class MacaroonBackup(Struct, frozen=True):
    """One that is kept, by its name; the value is asked for apart."""

    name: str
    created: datetime


class ChannelBackup(Struct, frozen=True):
    """lnd's own, encrypted by lnd with a key from the owner's seed."""

    taken: datetime
    digest: bytes
    content: bytes

    __repr__ = hiding("content")


class Backups:
    """The rows of node_seed, node_macaroon and node_channel_backup."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add_seed(self, node_id: str, sealed: bytes, *, now: datetime) -> bool:
        """Keep the one seed of a node; False when there is one already."""
        return bool(
            await self._run(
                sql.ADD_SEED, node_id=node_id, created=to_us(now), sealed=sealed
            )
        )

    async def seed(self, node_id: str) -> bytes:
        """Give the sealed seed, or NotFound."""
        if not (rows := await self._run(sql.GET_SEED, node_id=node_id)):
            raise NotFound
        sealed: bytes = rows[0][0]
        return sealed

    async def add_macaroon(
        self, node_id: str, name: str, sealed: bytes, *, now: datetime
    ) -> bool:
        """Keep a macaroon; False when the node has one of this name."""
        return bool(
            await self._run(
                sql.ADD_MACAROON,
                node_id=node_id,
                name=name,
                created=to_us(now),
                sealed=sealed,
            )
        )

    async def macaroon(self, node_id: str, name: str) -> bytes:
        """Give a sealed macaroon, or NotFound."""
        if not (rows := await self._run(sql.GET_MACAROON, node_id=node_id, name=name)):
            raise NotFound
        sealed: bytes = rows[0][0]
        return sealed

    async def replace_seed(self, node_id: str, was: bytes, sealed: bytes) -> None:
        """Put the seed in another's place; Stale when that one is not there."""
        if not await self._run(
            sql.REPLACE_SEED, of_node=node_id, was=was, sealed=sealed
        ):
            raise Stale

    async def replace_macaroon(
        self, node_id: str, name: str, was: bytes, sealed: bytes
    ) -> None:
        """Put the macaroon in another's place; Stale when that one is not there."""
        if not await self._run(
            sql.REPLACE_MACAROON, of_node=node_id, of_name=name, was=was, sealed=sealed
        ):
            raise Stale

    async def macaroons(self, node_id: str) -> list[MacaroonBackup]:
        """Give what is kept, oldest first."""
        rows = await self._run(sql.LIST_MACAROONS, node_id=node_id)
        return [MacaroonBackup(name, from_us(created)) for name, created in rows]

    async def add_channels(
        self, node_id: str, content: bytes, digest: bytes, *, now: datetime
    ) -> bool:
        """Keep a backup of channels, and the ten latest at most; False if known."""
        added = await self._run(
            sql.ADD_CHANNELS,
            node_id=node_id,
            taken=to_us(now),
            digest=digest,
            content=content,
        )
        await self._run(
            sql.FORGET_CHANNELS,
            node_id=node_id,
            of_node=node_id,
            kept=CHANNEL_BACKUPS_KEPT,
        )
        return bool(added)

    async def has_channels(self, node_id: str, digest: bytes) -> bool:
        """Tell whether this backup of channels is kept already."""
        return bool(await self._run(sql.HAS_CHANNELS, node_id=node_id, digest=digest))

    async def latest_channels(self, node_id: str) -> ChannelBackup:
        """Give the newest backup of channels, or NotFound."""
        if not (rows := await self._run(sql.LATEST_CHANNELS, node_id=node_id)):
            raise NotFound
        taken, digest, content = rows[0]
        return ChannelBackup(from_us(taken), digest, content)

    async def forget(self, node_id: str) -> None:
        """Remove everything that was kept for a node that is no more."""
        await self._run(sql.FORGET_SEED, node_id=node_id)
        await self._run(sql.FORGET_MACAROONS, node_id=node_id)
        await self._run(sql.FORGET_ALL_CHANNELS, node_id=node_id)
