"""The files that lnd leaves in its volume, as far as a cluster shows them: its log.

Backups of channels, macaroons in clear, and the log as it grows take a program beside
lnd that reads them there, which is not part of this version.
"""

import asyncio

from leyden.domain.nodes import Node
from leyden.lnd.tail import News, Place
from leyden.runtimes.base import NOTHING_NEW, Found, Usage
from leyden.runtimes.kubernetes import manifests
from leyden.runtimes.kubernetes.api import Api
from leyden.runtimes.kubernetes.objects import pods_log


class KubernetesHomes:
    """A reader of the logs of nodes' pods."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def log(self, node: Node, lines: int) -> list[str]:
        """Return the last lines that lnd has said; none where it has no pod."""
        words = await pods_log(self._api, manifests.name(node), lines) or b""
        return await asyncio.to_thread(_lines, words, lines)

    async def channel_backup(self, node: Node) -> bytes | None:
        """Return None: the volume cannot be read from here."""
        del node
        return None

    def look(self, node: Node, place: Place) -> Found:
        """Return that nothing is new."""
        del node, place
        return NOTHING_NEW

    async def catch_up(self, node: Node, place: Place) -> News:
        """Return that nothing was read."""
        del node
        return News(place=place)

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Delete nothing: the volume cannot be read from here."""
        del node
        return ()

    async def usage(self, node: Node, *, disk: bool = True) -> Usage:
        """Return nothing: the platform asks no kubelet."""
        del node, disk
        return Usage()


def _lines(words: bytes, lines: int) -> list[str]:
    return words.decode(errors="replace").splitlines()[-lines:]
