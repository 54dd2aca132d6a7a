"""What the platform knows of nodes' files in a cluster: logs, and companions' reports.

The API server shows only lnd's log. The companion reports the other files when they
change (nodes/home_reports.py), so nothing is polled here. Memory and CPU usage
come from the cluster's resource metrics, if it has them.
"""

import asyncio
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Final

from leyden.errors import ClusterAway, NodeAway
from leyden.nodes.lnd.tail import NewLines
from leyden.nodes.rules.log_positions import LogPosition
from leyden.nodes.rules.nodes import Node
from leyden.nodes.runtimes.base import NO_CHANGES, STOPPED, HomeChanges, Reports, Usage
from leyden.nodes.runtimes.kubernetes import manifests
from leyden.nodes.runtimes.kubernetes.api import MAX_TAIL, KubernetesApi
from leyden.nodes.runtimes.kubernetes.objects import pods_log
from leyden.nodes.runtimes.kubernetes.resource_metrics import ResourceMetrics
from leyden.values import replace

# metrics-server measures every 15 s. A page shows the last values that were fetched.
_FOR_ALL_S: Final = 15.0
_FOR_ONE_S: Final = 60.0
_NO_KUBELET: Final = frozenset(
    {
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
_AT_A_TIME: Final = 250  # 4 µs each


class KubernetesNodeFiles:
    """Reads the logs of nodes' pods, and the companions' reports."""

    def __init__(self, api: KubernetesApi, reports: Reports) -> None:
        self._api = api
        self._reports = reports
        self._metrics = ResourceMetrics(api)

    async def log(self, node: Node, lines: int) -> list[str]:
        """Return the last lines of lnd's log.

        The log of a pod has only the lines of its own lnd, and is deleted with it. The
        companion reports the end of the log of each earlier lnd.
        """
        try:
            words = await pods_log(self._api, manifests.name(node), lines) or b""
        except ClusterAway as error:
            # The API server asks the kubelet of the pod's machine for the log.
            if node.unknown is None and error.code not in _NO_KUBELET:
                raise
            raise NodeAway(
                "the node's machine does not respond, so its log can't be read; try "
                "again later"
            ) from error
        said = await asyncio.to_thread(_lines, words)
        if len(said) < lines:
            before = _lines(await self._reports.log_tail(node.id))
            if said and said[0] in before:
                before = before[: before.index(said[0])]
            said = before + said
        return said[-lines:]

    async def channel_backup(self, node: Node) -> bytes | None:
        """Return the last channel backup that the companion has reported, if any."""
        return await self._reports.channel_backup(node.id)

    async def public_key(self, node: Node) -> str:
        """Return "": the companion's report is stored when it arrives."""
        del node
        return ""

    def read_changes(self, node: Node, position: LogPosition) -> HomeChanges:
        """Return no changes: the companion reports them."""
        del node, position
        return NO_CHANGES

    async def catch_up(self, node: Node, position: LogPosition) -> NewLines:
        """Return no lines: the companion reports them."""
        del node
        return NewLines(position=position)

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Delete nothing: the companion deletes macaroons."""
        del node
        return ()

    async def usage(self, node: Node) -> Usage:
        """Return a node's usage, from the companion's report and the pod's metrics."""
        reported = await self._reports.usage(node.id)
        if node.has_process:
            await self._metrics.read(newer_than_s=_FOR_ONE_S)
        used = self._used(node)
        return replace(used, disk=reported.disk, height=reported.height)

    async def usages(self, nodes: Iterable[Node]) -> Mapping[str, Usage]:
        """Return the usage of nodes, with one request to the cluster and one query.

        The block height is the last one reported; a node without a companion has none.
        """
        await self._metrics.read(newer_than_s=_FOR_ALL_S)
        heights = await self._reports.heights()
        found = {}
        for number, node in enumerate(nodes, start=1):
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
            found[node.id] = replace(self._used(node), height=heights.get(node.id, 0))
        return found

    def _used(self, node: Node) -> Usage:
        if not node.has_process:
            return STOPPED
        found = self._metrics.of(manifests.name(node))
        return Usage(memory=found.memory, cpu_cores=found.cpu_cores)


def _lines(words: bytes) -> list[str]:
    """Split a log into lines, and shorten the path of lnd's home."""
    if len(words) == MAX_TAIL:
        words = words.partition(b"\n")[2]
    text = words.decode(errors="replace").replace(f"{manifests.HOME}/", "~/")
    return text.splitlines()
