"""What nodes used in the last day and month, in steps of their spans."""

from datetime import UTC, datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.nodes.rules.samples import Sample, Span

sql = SqlFile(__file__)


class NodeSamples:
    """The rows of node_sample: of a node and span, the newest replaces the oldest."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def keep(self, node_id: str, span: Span, sample: Sample) -> None:
        """Store a sample, unless another process has stored one of this step."""
        cores = sample.cpu_cores
        await self._run(
            sql.keep,
            node_id=node_id,
            span=span.step_s,
            slot=span.slot(sample.at),
            at=int(sample.at.timestamp()),
            memory=sample.memory,
            cpu_millis=None if cores is None else round(cores * 1000),
            bytes_in=sample.bytes_in,
            bytes_out=sample.bytes_out,
            height=sample.height,
        )

    async def of(self, node_id: str, span: Span, *, now: datetime) -> list[Sample]:
        """Return a node's samples of a span, oldest first."""
        after = int((now - span.count * span.step).timestamp())
        rows = await self._run(sql.of, node_id=node_id, span=span.step_s, after=after)
        return [
            Sample(
                at=datetime.fromtimestamp(at, UTC),
                memory=memory,
                cpu_cores=None if millis is None else millis / 1000,
                bytes_in=bytes_in,
                bytes_out=bytes_out,
                height=height,
            )
            for at, memory, millis, bytes_in, bytes_out, height in rows
        ]

    async def delete(self, node_id: str) -> None:
        """Delete the samples of a node whose home is removed."""
        await self._run(sql.delete, node_id=node_id)
