"""Samples of what a node uses, and for how long they are kept."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from leyden.values import Struct

SAMPLE_INTERVAL: Final = timedelta(seconds=30)


class Sample(Struct, frozen=True):
    """A node's resource usage at one moment; None is not known."""

    at: datetime
    memory: int | None
    cpu_cores: float | None  # on average since the sample before
    bytes_in: int | None
    bytes_out: int | None
    height: int  # 0 is not known


class Span(Struct, frozen=True, kw_only=True):
    """How far back samples reach, and how far they are apart."""

    name: str
    step: timedelta
    count: int

    @property
    def step_s(self) -> int:
        """The step in seconds, by which samples of this span are stored."""
        return int(self.step.total_seconds())

    def begin(self, now: datetime) -> datetime:
        """Return the last whole step, which began at the same moment for all nodes."""
        return datetime.fromtimestamp(now.timestamp() // self.step_s * self.step_s, UTC)

    def slot(self, at: datetime) -> int:
        """Return where a sample is stored: in place of the one that is now too old."""
        return int(at.timestamp()) // self.step_s % self.count


HOUR: Final = Span(name="hour", step=SAMPLE_INTERVAL, count=120)
DAY: Final = Span(name="day", step=timedelta(minutes=15), count=96)
MONTH: Final = Span(name="month", step=timedelta(hours=1), count=720)


def coarse(samples: Sequence[Sample], *, at: datetime) -> Sample:
    """Return one sample for several, oldest first: what was used most, or on average.

    Counters and the height are as they were last.
    """
    memory = [each.memory for each in samples if each.memory is not None]
    cores = [each.cpu_cores for each in samples if each.cpu_cores is not None]
    last = samples[-1]
    return Sample(
        at=at,
        memory=max(memory, default=None),
        cpu_cores=sum(cores) / len(cores) if cores else None,
        bytes_in=last.bytes_in,
        bytes_out=last.bytes_out,
        height=last.height,
    )
