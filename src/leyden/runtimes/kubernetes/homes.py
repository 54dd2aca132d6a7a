"""The files that lnd leaves in its volume, as far as a cluster shows them: its log.

The rest nobody can read from here. The companion beside lnd reports it as it comes
(services/nodes/home_reports.py): so there is nothing to look for.
"""

import asyncio
from collections.abc import Awaitable, Callable

from leyden.domain.nodes import Node
from leyden.lnd.tail import News, Place
from leyden.runtimes.base import NOTHING_NEW, Found, Usage
from leyden.runtimes.kubernetes import manifests
from leyden.runtimes.kubernetes.api import Api
from leyden.runtimes.kubernetes.objects import pods_log

Reported = Callable[[str], Awaitable[Usage]]


class KubernetesHomes:
    """A reader of the logs of nodes' pods, and of what companions have reported."""

    def __init__(self, api: Api, reported: Reported) -> None:
        self._api = api
        self._reported = reported

    async def log(self, node: Node, lines: int) -> list[str]:
        """Return the last lines that lnd has said; none where it has no pod."""
        words = await pods_log(self._api, manifests.name(node), lines) or b""
        return await asyncio.to_thread(_lines, words, lines)

    async def channel_backup(self, node: Node) -> bytes | None:
        """Return None: the companion reports each one."""
        del node
        return None

    async def public_key(self, node: Node) -> str:
        """Return nothing: the companion does not report it."""
        del node
        return ""

    def look(self, node: Node, place: Place) -> Found:
        """Return that nothing is new."""
        del node, place
        return NOTHING_NEW

    async def catch_up(self, node: Node, place: Place) -> News:
        """Return that nothing was read."""
        del node
        return News(place=place)

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Delete nothing: the companion does."""
        del node
        return ()

    async def usage(self, node: Node, *, disk: bool = True) -> Usage:
        """Return what was reported, if the disk is asked for: no kubelet is asked."""
        return await self._reported(node.id) if disk else Usage()


def _lines(words: bytes, lines: int) -> list[str]:
    return words.decode(errors="replace").splitlines()[-lines:]
