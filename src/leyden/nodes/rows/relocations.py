"""Moves of nodes between runtimes."""

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.errors import NotAllowed, Stale
from leyden.nodes.rules.nodes import RuntimeName
from leyden.nodes.rules.relocations import Relocation, RelocationStep

sql = SqlFile(__file__)


class Relocations:
    """The rows of relocation."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self, node_id: str) -> Relocation | None:
        """Return a node's last move, if it ever had one."""
        rows = await self._run(sql.find, node_id=node_id)
        return _relocation(rows[0]) if rows else None

    async def unfinished(self) -> list[Relocation]:
        """List the moves that are not done."""
        return [_relocation(row) for row in await self._run(sql.unfinished)]

    async def begin(self, relocation: Relocation) -> None:
        """Store a new move; raise NotAllowed until the previous one is complete."""
        begun = await self._run(
            sql.begin,
            node_id=relocation.node_id,
            origin=relocation.origin,
            target=relocation.target,
            at=to_us(relocation.at),
        )
        if not begun:
            raise NotAllowed(
                f"node {relocation.node_id}: its last move is not complete: the data "
                "that it left behind is not deleted yet"
            )

    async def save(self, before: Relocation, after: Relocation) -> None:
        """Write the move's progress; raise Stale if it is at another step by now."""
        saved = await self._run(
            sql.save,
            node_id=before.node_id,
            was=before.step,
            step=after.step,
            copy=after.copy,
            size=after.size,
            failures=after.failures,
            why=after.why,
            at=to_us(after.at),
        )
        if not saved:
            raise Stale(f"the move of node {before.node_id} advanced in the meantime")

    async def delete(self, node_id: str) -> None:
        """Delete the record of a node's last move, unless data of it is left over."""
        await self._run(sql.delete, node_id=node_id)


def _relocation(row: Row) -> Relocation:
    node_id, origin, target, step, copy, size, failures, why, at = row
    return Relocation(
        node_id=node_id,
        origin=RuntimeName(origin),
        target=RuntimeName(target),
        step=RelocationStep(step),
        copy=copy,
        size=size,
        failures=failures,
        why=why,
        at=from_us(at),
    )
