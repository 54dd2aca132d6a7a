"""Owners' last hundred commands to each node, newest first."""

from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.nodes.rules.nodes import Action
from leyden.values import Struct

sql = SqlFile(__file__)

KEEP_NEWEST = 100


class Command(Struct, frozen=True):
    """A command that an owner gave."""

    action: Action
    at: datetime


class Commands:
    """The rows of node_command."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(
        self, node_id: str, action: Action, *, at: datetime, actor: str
    ) -> None:
        """Record a command and its actor; delete all but the last 100."""
        await self._run(
            sql.add, node_id=node_id, action=action, at=to_us(at), actor=actor
        )
        await self._run(sql.delete_old, node_id=node_id, limit=KEEP_NEWEST)

    async def list_(self, node_id: str) -> list[Command]:
        """Return the last hundred commands, newest first."""
        return [
            Command(Action(action), from_us(at))
            for action, at in await self._run(
                sql.list, node_id=node_id, limit=KEEP_NEWEST
            )
        ]
