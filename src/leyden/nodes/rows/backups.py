"""Owners' backups, sealed once more, and lnd's own channel backups."""

from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.errors import NotFound, Stale
from leyden.values import Struct, hiding

sql = SqlFile(__file__)

CHANNEL_BACKUPS_KEPT = 10


class MacaroonBackup(Struct, frozen=True):
    """A stored macaroon's name and date; the value is loaded separately."""

    name: str
    created: datetime


class ChannelBackup(Struct, frozen=True):
    """lnd's channel backup, encrypted by lnd with a key from the seed."""

    taken: datetime
    digest: bytes
    content: bytes

    __repr__ = hiding("content")


class BackupRows:
    """The rows of node_seed, node_macaroon and node_channel_backup."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add_seed(self, node_id: str, sealed: bytes, *, now: datetime) -> bool:
        """Store a node's only seed; return False if one is already stored."""
        return bool(
            await self._run(
                sql.add_seed, node_id=node_id, created=to_us(now), sealed=sealed
            )
        )

    async def seed(self, node_id: str) -> bytes:
        """Return the sealed seed, or raise NotFound."""
        if not (rows := await self._run(sql.get_seed, node_id=node_id)):
            raise NotFound
        sealed: bytes = rows[0][0]
        return sealed

    async def add_macaroon(
        self, node_id: str, name: str, sealed: bytes, *, now: datetime
    ) -> bool:
        """Store a macaroon; return False if the name is in use."""
        return bool(
            await self._run(
                sql.add_macaroon,
                node_id=node_id,
                name=name,
                created=to_us(now),
                sealed=sealed,
            )
        )

    async def macaroon(self, node_id: str, name: str) -> bytes:
        """Return a sealed macaroon, or raise NotFound."""
        if not (rows := await self._run(sql.get_macaroon, node_id=node_id, name=name)):
            raise NotFound
        sealed: bytes = rows[0][0]
        return sealed

    async def replace_seed(self, node_id: str, was: bytes, sealed: bytes) -> None:
        """Replace the seed; raise Stale if the stored one is not `was`."""
        if not await self._run(
            sql.replace_seed, node_id=node_id, was=was, sealed=sealed
        ):
            raise Stale

    async def replace_macaroon(
        self, node_id: str, name: str, was: bytes, sealed: bytes
    ) -> None:
        """Replace a macaroon; raise Stale if the stored one is not `was`."""
        if not await self._run(
            sql.replace_macaroon, node_id=node_id, name=name, was=was, sealed=sealed
        ):
            raise Stale

    async def macaroons(self, node_id: str) -> list[MacaroonBackup]:
        """Return the stored macaroons, oldest first."""
        rows = await self._run(sql.list_macaroons, node_id=node_id)
        return [MacaroonBackup(name, from_us(created)) for name, created in rows]

    async def add_channels(
        self, node_id: str, content: bytes, digest: bytes, *, now: datetime
    ) -> bool:
        """Store a channel backup as the latest of ten; return False if it is that.

        A process may have stored an earlier one after it.
        """
        await self._run(sql.forget_older_channels, node_id=node_id, digest=digest)
        added = await self._run(
            sql.add_channels,
            node_id=node_id,
            taken=to_us(now),
            digest=digest,
            content=content,
        )
        await self._run(
            sql.delete_old_channels, node_id=node_id, limit=CHANNEL_BACKUPS_KEPT
        )
        return bool(added)

    async def latest_channels(self, node_id: str) -> ChannelBackup:
        """Return the newest channel backup, or raise NotFound."""
        if not (rows := await self._run(sql.latest_channels, node_id=node_id)):
            raise NotFound
        taken, digest, content = rows[0]
        return ChannelBackup(from_us(taken), digest, content)

    async def newest_channels(self, *, limit: int) -> list[tuple[int, datetime]]:
        """Return numbers and times of the newest channel backups, newest first.

        On PostgreSQL a lower number may be committed after a higher one.
        """
        rows = await self._run(sql.newest_channels, limit=limit)
        return [(number, from_us(taken)) for number, taken in rows]

    async def latest_of_all(self) -> dict[str, bytes]:
        """Return the newest channel backup of each node."""
        return dict(await self._run(sql.latest_of_all))

    async def delete(self, node_id: str) -> None:
        """Delete all backups of a node that no longer exists."""
        await self._run(sql.delete_seed, node_id=node_id)
        await self._run(sql.delete_macaroons, node_id=node_id)
        await self._run(sql.delete_channels, node_id=node_id)
