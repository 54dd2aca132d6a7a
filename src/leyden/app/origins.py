"""Nodes that run with other origins than are set now: lnd reads them at its start."""

import asyncio
from collections.abc import Iterable
from typing import Final

from leyden import logs
from leyden.domain.nodes import Node
from leyden.lnd import home
from leyden.runtimes.layout import Layout
from leyden.services.fleet import Fleet

log: Final = logs.get()


async def warn(fleet: Fleet, layout: Layout, origins: tuple[str, ...]) -> None:
    """Say how many nodes keep out the dashboard's pages until they are restarted."""
    nodes = await fleet.database.reader.nodes.all_()
    # In a thread: a thousand files take a tenth of a second to read.
    found = await asyncio.to_thread(behind, layout, nodes, origins)
    if found:
        log.warning(
            "dashboard_origins reaches nodes at their next start; until then the "
            "dashboard's wallet pages cannot talk to some",
            nodes=found,
            origins=", ".join(origins),
        )


def behind(layout: Layout, nodes: Iterable[Node], origins: tuple[str, ...]) -> int:
    """Count the nodes whose lnd runs and was started with other origins."""
    return sum(
        sorted(home.origins(layout.home(node))) != sorted(origins)
        for node in nodes
        if node.has_process
    )
