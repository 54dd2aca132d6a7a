"""Resource usage of nodes, for a node's page.

Each process that serves pages takes samples of its own, keeps those of an hour in
memory, and loses them at its end. A database would have to write a row for each of ten
thousand nodes twice a minute, for charts that are seldom looked at. For the last day
and month it stores one for each quarter of an hour and each hour: whichever process
comes first.
"""

import asyncio
import logging
import math
from array import array
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import Away
from leyden.nodes.fleet import Fleet
from leyden.nodes.gateway.base import Traffic
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.samples import (
    DAY,
    HOUR,
    MONTH,
    SAMPLE_INTERVAL,
    Sample,
    Span,
    coarse,
)
from leyden.nodes.runtimes.base import Usage
from leyden.values import Struct

RETIRED: Final = "samples"
# Nobody else waits for longer than these few take: 4 µs each.
_AT_A_TIME: Final = 250
_STORED_AT_ONCE: Final = 100  # in a transaction, for which other writers wait
_FIELDS: Final = 6  # of a sample; 6 KiB a node, and 60 MiB for ten thousand
_UNKNOWN: Final = math.nan

log = logging.getLogger(__name__)


async def retire(_due: ClaimedTask) -> None:
    """End the task of the release before this one, which one worker sampled by."""


class _Counted(Struct, frozen=True):
    """The processor time that a process had used at a moment."""

    process: str
    at: datetime
    cpu_s: float


class Samples:
    """The last hour of samples of each running node."""

    def __init__(self) -> None:
        # Numbers alone, a dozen objects less for each of a million samples.
        self._samples: dict[str, array[float]] = {}
        self._counted: dict[str, _Counted] = {}
        self._kept: dict[str, datetime] = {}  # by span: the step that was stored last

    def of(self, node_id: str, *, newest: int = HOUR.count) -> Sequence[Sample]:
        """Return a node's newest samples, oldest first."""
        samples = self._samples.get(node_id, ())[-newest * _FIELDS :]
        return tuple(
            _sample(samples[begin : begin + _FIELDS])
            for begin in range(0, len(samples), _FIELDS)
        )

    def cpu_cores(self, node_id: str, usage: Usage, *, now: datetime) -> float | None:
        """Return how much of a processor a node uses, be it by its last sample."""
        if usage.cpu_cores is not None or not (samples := self._samples.get(node_id)):
            return usage.cpu_cores
        latest = _sample(samples[-_FIELDS:])
        return latest.cpu_cores if now - latest.at <= 2 * SAMPLE_INTERVAL else None

    async def follow(self, fleet: Fleet) -> None:
        """Take samples until cancelled."""
        while True:
            try:
                await self.take(fleet)
            except Away as error:
                log.info("no samples are taken", extra={"why": str(error)})
            await asyncio.sleep(SAMPLE_INTERVAL.total_seconds())

    async def take(self, fleet: Fleet) -> None:
        """Sample every running node once."""
        now = fleet.clock()
        nodes = [
            node
            for node in await fleet.node_cache.nodes(fleet.database.reader.nodes)
            if node.has_process
        ]
        traffic = await fleet.gateway.traffic() if nodes else None
        usages = await fleet.node_files.usages(nodes)
        remaining, counted = {}, {}
        for number, node in enumerate(nodes, start=1):
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
            usage = usages[node.id]
            into, out = _passed(node.id, traffic)
            remaining[node.id] = self._samples.get(node.id, array("d"))
            remaining[node.id].extend(
                (
                    now.timestamp(),
                    _or_unknown(usage.memory),
                    _or_unknown(self._cores(node, usage, now)),
                    into,
                    out,
                    usage.height,
                )
            )
            del remaining[node.id][: -HOUR.count * _FIELDS]
            if usage.cpu_s is not None:
                counted[node.id] = _Counted(node.process, now, usage.cpu_s)
        self._samples, self._counted = remaining, counted
        for span in (DAY, MONTH):
            step = span.begin(now)
            # The first step of a process is a part of one.
            if self._kept.setdefault(span.name, step) < step:
                await self._keep(fleet, span, step)
                self._kept[span.name] = step

    async def _keep(self, fleet: Fleet, span: Span, step: datetime) -> None:
        """Store one sample of each node for the step that ends here."""
        since, newest = step - span.step, span.step // SAMPLE_INTERVAL
        node_ids = list(self._samples)
        for begin in range(0, len(node_ids), _STORED_AT_ONCE):
            found = {}
            for node_id in node_ids[begin : begin + _STORED_AT_ONCE]:
                samples = self.of(node_id, newest=newest)
                if samples := [each for each in samples if each.at >= since]:
                    found[node_id] = coarse(samples, at=step)
                await asyncio.sleep(0)  # an hour of one node takes 350 µs
            async with fleet.database.transaction() as tx:
                for node_id, sample in found.items():
                    await tx.node_samples.keep(node_id, span, sample)

    def _cores(self, node: Node, usage: Usage, now: datetime) -> float | None:
        """Return how much of a processor a node has used since its last sample."""
        if usage.cpu_cores is not None or usage.cpu_s is None:
            return usage.cpu_cores
        before = self._counted.get(node.id)
        if before is None or before.process != node.process or now <= before.at:
            return None
        grown = max(0.0, usage.cpu_s - before.cpu_s)
        return grown / (now - before.at).total_seconds()


def _passed(node_id: str, traffic: Mapping[str, Traffic] | None) -> tuple[float, float]:
    """Return the bytes to and from a node so far."""
    if traffic is None:
        return _UNKNOWN, _UNKNOWN
    passed = traffic.get(node_id, Traffic())
    return passed.bytes_in, passed.bytes_out


def _or_unknown(value: float | None) -> float:
    return _UNKNOWN if value is None else value


def _sample(row: Sequence[float]) -> Sample:
    at, memory, cpu_cores, bytes_in, bytes_out, height = row
    return Sample(
        at=datetime.fromtimestamp(at, UTC),
        memory=_rounded(memory),
        cpu_cores=None if math.isnan(cpu_cores) else cpu_cores,
        bytes_in=_rounded(bytes_in),
        bytes_out=_rounded(bytes_out),
        height=int(height),
    )


def _rounded(value: float) -> int | None:
    return None if math.isnan(value) else int(value)
