"""The last reports of companions of nodes in a cluster."""

from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.values import Struct

sql = SqlFile(__file__)


class NodeReport(Struct, frozen=True, kw_only=True):
    """The last report on a node's home, without what is stored elsewhere."""

    node_id: str
    run: str  # of the companion; it counts from 0 in each run
    macaroons_removed: int
    disk: int
    height: int
    at: datetime


class NodeReports:
    """The rows of node_report."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def keep(self, report: NodeReport) -> None:
        """Store a report; it replaces the node's last one."""
        await self._run(
            sql.keep,
            node_id=report.node_id,
            run=report.run,
            macaroons_removed=report.macaroons_removed,
            disk=report.disk,
            height=report.height,
            at=to_us(report.at),
        )

    async def find(self, node_id: str) -> NodeReport | None:
        """Return a node's last report; None if there was none."""
        for id_, run, removed, disk, height, at in await self._run(
            sql.get, node_id=node_id
        ):
            return NodeReport(
                node_id=id_,
                run=run,
                macaroons_removed=removed,
                disk=disk,
                height=height,
                at=from_us(at),
            )
        return None

    async def heights(self) -> dict[str, int]:
        """Return the last reported block height of each node, by id."""
        return dict(await self._run(sql.heights))

    async def keep_log_tail(self, node_id: str, tail: bytes) -> None:
        """Store the end of a node's log, compressed, beside its report."""
        await self._run(sql.keep_log_tail, node_id=node_id, log_tail=tail)

    async def log_tail(self, node_id: str) -> bytes | None:
        """Return the end of a node's log; None if none was reported."""
        for (tail,) in await self._run(sql.log_tail, node_id=node_id):
            return None if tail is None else bytes(tail)
        return None

    async def delete(self, node_id: str) -> None:
        """Delete the report of a node whose home is removed."""
        await self._run(sql.delete, node_id=node_id)
