"""What was counted, as whoever scrapes this process would read it."""

from dataclasses import dataclass
from typing import Self

from prometheus_client import REGISTRY

from leyden.nodes.runtimes.unknown import UnknownNodes


def unknown_nodes() -> float | None:
    return REGISTRY.get_sample_value("leyden_nodes_unknown")


def forget_unknown_nodes() -> None:
    """As in a new process: what an earlier test's runtime cannot see counts no more."""
    for runtime in ("processes", "pods"):
        UnknownNodes(runtime)


@dataclass
class Observed:
    """What a histogram was given since: it is one for all tests of a process."""

    name: str
    labels: dict[str, str]
    count: float = 0
    seconds: float = 0

    @classmethod
    def since_now(cls, name: str, **labels: str) -> Self:
        now = cls(name, labels)
        now.count, now.seconds = now._read()
        return now

    def new(self) -> tuple[float, float]:
        """Return how many times, and how many seconds together."""
        count, seconds = self._read()
        return count - self.count, round(seconds - self.seconds, 6)  # of floats

    def _read(self) -> tuple[float, float]:
        return (
            REGISTRY.get_sample_value(f"{self.name}_count", self.labels) or 0,
            REGISTRY.get_sample_value(f"{self.name}_sum", self.labels) or 0,
        )
