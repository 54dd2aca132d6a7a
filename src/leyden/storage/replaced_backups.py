"""Backups whose place another took: kept for a while, should the other be wrong."""

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import BigInteger, bindparam, delete, insert, select

from leyden.domain.times import from_us, to_us
from leyden.storage.statements import Run
from leyden.storage.tables_nodes import replaced_backups as replaced

MOST = 20  # of each backup: a window that does it again and again fills no disk

_ADD = insert(replaced).values(
    node_id=bindparam("of_node"),
    name=bindparam("of_name"),
    at=bindparam("now"),
    sealed=bindparam("was"),
)
_of_one = (replaced.c.node_id == bindparam("of_node")) & (
    replaced.c.name == bindparam("of_name")
)
_too_many = (
    select(replaced.c.id)
    .where(_of_one)
    .order_by(replaced.c.id.desc())
    .limit(1)
    .offset(bindparam("kept", type_=BigInteger))
    .scalar_subquery()
)
_BOUND = delete(replaced).where(_of_one, replaced.c.id <= _too_many)
_LIST = (
    select(replaced.c.name, replaced.c.at, replaced.c.sealed)
    .where(replaced.c.node_id == bindparam("of_node"))
    .order_by(replaced.c.id.desc())
)
_FORGET = delete(replaced).where(replaced.c.node_id == bindparam("of_node"))
_FORGET_OLD = delete(replaced).where(replaced.c.at < bindparam("until"))


@dataclass(frozen=True, slots=True)
class ReplacedBackup:
    """One that was in use until then; the seed's name is empty."""

    name: str
    at: datetime
    sealed: bytes = field(repr=False)


class ReplacedBackups:
    """The rows of replaced_backup."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, node_id: str, name: str, was: bytes, *, now: datetime) -> None:
        """Keep what another takes the place of, and the latest of those before."""
        one = {"of_node": node_id, "of_name": name}
        await self._run(_ADD, **one, now=to_us(now), was=was)
        await self._run(_BOUND, **one, kept=MOST)

    async def list_(self, node_id: str) -> list[ReplacedBackup]:
        """Give what is kept of a node, the latest first."""
        rows = await self._run(_LIST, of_node=node_id)
        return [ReplacedBackup(name, from_us(at), sealed) for name, at, sealed in rows]

    async def forget(self, node_id: str) -> None:
        """Remove all of a node that is no more."""
        await self._run(_FORGET, of_node=node_id)

    async def forget_old(self, *, until: datetime) -> None:
        """Remove what was replaced before then."""
        await self._run(_FORGET_OLD, until=to_us(until))
