"""Replaced backups, kept for a while in case a new one is wrong."""

from datetime import datetime

from leyden.base.database.statements import AFTER_ALL, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.nodes.rules.backup_history import BackupVersion, versions_to_delete
from leyden.values import Struct, hiding

sql = SqlFile(__file__)


class ReplacedBackup(Struct, frozen=True):
    """A replaced backup and when it was replaced; the seed's name is empty."""

    number: int
    name: str
    at: datetime
    sealed: bytes

    __repr__ = hiding("sealed")


class ReplacedBackups:
    """The rows of replaced_backup."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, node_id: str, name: str, was: bytes, *, now: datetime) -> None:
        """Store a replaced backup; delete all but the latest."""
        await self._run(sql.add, node_id=node_id, name=name, at=to_us(now), sealed=was)
        rows = await self._run(sql.history, node_id=node_id, name=name)
        history = [BackupVersion(id_, from_us(at)) for id_, at in rows]
        for id_ in versions_to_delete(history):
            await self._run(sql.delete_one, id=id_)

    async def page(
        self, node_id: str, *, before: int = AFTER_ALL, limit: int
    ) -> list[ReplacedBackup]:
        """Return a node's replaced backups below a number, newest first."""
        rows = await self._run(sql.page, node_id=node_id, before=before, limit=limit)
        return [
            ReplacedBackup(number, name, from_us(at), sealed)
            for number, name, at, sealed in rows
        ]

    async def delete(self, node_id: str) -> None:
        """Delete all replaced backups of a node that no longer exists."""
        await self._run(sql.delete, node_id=node_id)

    async def delete_old(self, *, until: datetime) -> None:
        """Delete backups replaced before then."""
        await self._run(sql.delete_old, until=to_us(until))
