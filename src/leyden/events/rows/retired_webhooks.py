"""Events that the last release stored for nodes' webhooks; moved to `deliveries`.

A rolling upgrade runs that release beside this one: until its last process has ended,
it writes into tables of its own. They go with the next release.
"""

from leyden.base.database.statements import Run, SqlFile

sql = SqlFile(__file__)


class RetiredWebhooks:
    """The rows of webhook_event and webhook_attempt."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def nodes(self, *, limit: int) -> list[str]:
        """Return nodes that have events there."""
        return [node_id for (node_id,) in await self._run(sql.nodes, limit=limit)]

    async def move(self, node_id: str) -> None:
        """Move the events of a node, with their attempts."""
        for step in (sql.move_events, sql.move_attempts, sql.keep_updates, sql.delete):
            await self._run(step, node_id=node_id)
