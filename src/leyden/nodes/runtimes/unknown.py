"""Counting and logging nodes for which it is unknown whether their lnd runs."""

import logging
from typing import Final

from prometheus_client import Gauge

log = logging.getLogger(__name__)

_COUNT: Final = Gauge(
    "leyden_nodes_unknown",
    "Nodes of which it is not known whether their lnd runs.",
)

# By runtime: an installation may have two.
_KNOWN: Final[dict[str, dict[str, str]]] = {}


class UnknownNodes:
    """The nodes that a runtime cannot observe, and why."""

    def __init__(self, runtime: str) -> None:
        """Count for this runtime from now on, replacing an earlier one."""
        self._why = _KNOWN[runtime] = {}
        _count()

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._why

    def add(self, node_id: str, why: str) -> str:
        """Log that a node's state is unknown, once for each reason; return `why`."""
        if self._why.get(node_id) != why:
            self._why[node_id] = why
            log.error(
                "node %s: unknown whether lnd runs",
                node_id,
                extra={"why": why},
            )
        _count()
        return why

    def discard(self, node_id: str) -> None:
        """Record that a node is observed again, or that another process watches it."""
        self._why.pop(node_id, None)
        _count()


def _count() -> None:
    _COUNT.set(sum(map(len, _KNOWN.values())))
