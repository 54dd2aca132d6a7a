"""What owners asked of their nodes: the last hundred times, newest first."""

from datetime import datetime

from leyden.domain.nodes import Action
from leyden.domain.times import from_us, to_us
from leyden.storage.statements import Run
from leyden.storage.written import commands as sql
from leyden.values import Struct

KEPT = 100


class Command(Struct, frozen=True):
    """One thing that was asked for."""

    action: Action
    at: datetime


class Commands:
    """The rows of node_command."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(
        self, node_id: str, action: Action, *, at: datetime, actor: str
    ) -> None:
        """Note what was asked for, by whom; forget what came before the last 100."""
        await self._run(
            sql.ADD, node_id=node_id, action=action, at=to_us(at), actor=actor
        )
        await self._run(sql.FORGET, node_id=node_id, of_node=node_id, kept=KEPT)

    async def list_(self, node_id: str) -> list[Command]:
        """Give the last hundred, newest first."""
        return [
            Command(Action(action), from_us(at))
            for action, at in await self._run(sql.LIST, node_id=node_id, kept=KEPT)
        ]
