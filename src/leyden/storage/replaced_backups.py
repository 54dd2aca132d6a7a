"""Backups whose place another took: kept for a while, should the other be wrong."""

from datetime import datetime

from leyden.domain.times import from_us, to_us
from leyden.storage.statements import Run
from leyden.storage.written import replaced_backups as sql
from leyden.values import Struct, hiding

MOST = 20  # of each backup: a window that does it again and again fills no disk


class ReplacedBackup(Struct, frozen=True):
    """One that was in use until then; the seed's name is empty."""

    name: str
    at: datetime
    sealed: bytes

    __repr__ = hiding("sealed")


class ReplacedBackups:
    """The rows of replaced_backup."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, node_id: str, name: str, was: bytes, *, now: datetime) -> None:
        """Keep what another takes the place of, and the latest of those before."""
        one = {"of_node": node_id, "of_name": name}
        await self._run(sql.ADD, **one, now=to_us(now), was=was)
        await self._run(sql.BOUND, **one, kept=MOST)

    async def list_(self, node_id: str) -> list[ReplacedBackup]:
        """Give what is kept of a node, the latest first."""
        rows = await self._run(sql.LIST, of_node=node_id)
        return [ReplacedBackup(name, from_us(at), sealed) for name, at, sealed in rows]

    async def forget(self, node_id: str) -> None:
        """Remove all of a node that is no more."""
        await self._run(sql.FORGET, of_node=node_id)

    async def forget_old(self, *, until: datetime) -> None:
        """Remove what was replaced before then."""
        await self._run(sql.FORGET_OLD, until=to_us(until))
