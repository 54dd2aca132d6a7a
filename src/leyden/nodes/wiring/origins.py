"""Nodes running with outdated CORS origins: lnd reads them at start."""

import asyncio
import logging
from collections.abc import Iterable

from leyden.nodes.fleet import Fleet
from leyden.nodes.rules.nodes import Node
from leyden.nodes.runtimes.base import Runtime

log = logging.getLogger(__name__)


async def warn(fleet: Fleet, origins: tuple[str, ...]) -> None:
    """Log how many nodes reject the dashboard's pages until they are restarted."""
    nodes = await fleet.database.reader.nodes.all_()
    # In a thread: a thousand files take a tenth of a second to read.
    found = await asyncio.to_thread(outdated, fleet.runtime, nodes)
    if found:
        log.warning(
            "dashboard_origins reaches nodes at their next start; until then the "
            "dashboard's wallet pages cannot talk to some",
            extra={"nodes": found, "origins": ", ".join(origins)},
        )


def outdated(runtime: Runtime, nodes: Iterable[Node]) -> int:
    """Count running nodes whose lnd was started with other origins."""
    return sum(runtime.is_outdated(node) for node in nodes if node.has_process)
