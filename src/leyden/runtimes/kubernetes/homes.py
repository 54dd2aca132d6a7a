"""The files that lnd leaves in its volume, as far as a cluster shows them: its log.

The rest nobody can read from here. The companion beside lnd reports it as it comes
(services/nodes/home_reports.py): so there is nothing to look for.
"""

import asyncio

from leyden.domain.nodes import Node
from leyden.lnd.tail import NewLines, Place
from leyden.runtimes.base import NO_CHANGES, HomeChanges, Reports, Usage
from leyden.runtimes.kubernetes import manifests
from leyden.runtimes.kubernetes.api import MOST_TAIL, Api
from leyden.runtimes.kubernetes.objects import pods_log


class KubernetesHomes:
    """A reader of the logs of nodes' pods, and of what companions have reported."""

    def __init__(self, api: Api, reports: Reports) -> None:
        self._api = api
        self._reports = reports

    async def log(self, node: Node, lines: int) -> list[str]:
        """Return the last lines that lnd has said.

        A pod has those of its own lnd, and they go with it. What was said before the
        companion reported, at the end of each lnd and before the next one began.
        """
        words = await pods_log(self._api, manifests.name(node), lines) or b""
        said = await asyncio.to_thread(_lines, words)
        if len(said) < lines:
            before = _lines(await self._reports.log_tail(node.id))
            if said and said[0] in before:
                before = before[: before.index(said[0])]
            said = before + said
        return said[-lines:]

    async def channel_backup(self, node: Node) -> bytes | None:
        """Return the last one that its companion has reported, if it has."""
        return await self._reports.channel_backup(node.id)

    async def public_key(self, node: Node) -> str:
        """Return nothing: what the companion reports is stored as it comes."""
        del node
        return ""

    def look(self, node: Node, place: Place) -> HomeChanges:
        """Return that nothing is new."""
        del node, place
        return NO_CHANGES

    async def catch_up(self, node: Node, place: Place) -> NewLines:
        """Return that nothing was read."""
        del node
        return NewLines(place=place)

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Delete nothing: the companion does."""
        del node
        return ()

    async def usage(self, node: Node, *, disk: bool = True) -> Usage:
        """Return what was reported, if the disk is asked for: no kubelet is asked."""
        return await self._reports.usage(node.id) if disk else Usage()


def _lines(words: bytes) -> list[str]:
    """Return whole lines; lnd's home is called as on a machine of one's own."""
    if len(words) == MOST_TAIL:
        words = words.partition(b"\n")[2]
    text = words.decode(errors="replace").replace(f"{manifests.HOME}/", "~/")
    return text.splitlines()
