"""Nodes' folders in memory, without lnds, for tests and trying things out."""

import errno
from collections.abc import Iterable, Mapping

from leyden.nodes.lnd.tail import NewLines
from leyden.nodes.rules.log_positions import LogPosition
from leyden.nodes.rules.nodes import Node
from leyden.nodes.runtimes.base import HomeChanges, Usage
from leyden.values import replace


class FakeNodeFiles:
    """Folders without lnds, filled by a test."""

    def __init__(self) -> None:
        self.logs: dict[str, list[str]] = {}
        self.channel_backups: dict[str, bytes] = {}
        self.public_keys: dict[str, str] = {}
        self.complaints: dict[str, list[str]] = {}  # each log, from its beginning
        self._last_read: dict[str, bytes] = {}
        self.macaroons: dict[str, tuple[str, ...]] = {}
        self.unreadable: set[str] = set()  # nodes whose folder cannot be read
        self.used: dict[str, Usage] = {}

    async def log(self, node: Node, lines: int) -> list[str]:
        """Return the last lines that a test has set."""
        return self.logs.get(node.id, [])[-lines:]

    async def channel_backup(self, node: Node) -> bytes | None:
        """Return the channel backup that a test has set."""
        self._refuse_unreadable(node)
        return self.channel_backups.get(node.id)

    async def public_key(self, node: Node) -> str:
        """Return the public key that a test has set."""
        return self.public_keys.get(node.id, "")

    def read_changes(self, node: Node, position: LogPosition) -> HomeChanges:
        """Return what a test has added since the last read."""
        self._refuse_unreadable(node)
        backup = self.channel_backups.get(node.id)
        changed = backup if backup != self._last_read.get(node.id) else None
        if backup is not None:
            self._last_read[node.id] = backup
        return HomeChanges(channel_backup=changed, log=self._read_on(node, position))

    async def catch_up(self, node: Node, position: LogPosition) -> NewLines:
        """Read on, as `read_changes` does."""
        return self._read_on(node, position) or NewLines(position=position)

    def _refuse_unreadable(self, node: Node) -> None:
        if node.id in self.unreadable:
            raise OSError(errno.EIO, "input/output error")

    def _read_on(self, node: Node, position: LogPosition) -> NewLines | None:
        lines = self.complaints.get(node.id, [])
        since = len(lines) if position.offset < 0 else position.offset
        if since == len(lines) and position.offset >= 0:
            return None
        return NewLines(
            position=LogPosition(inode=1, offset=len(lines)),
            complaints=tuple(lines[since:]),
        )

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Delete the macaroons that a test has set, and return their names."""
        return self.macaroons.pop(node.id, ())

    async def usage(self, node: Node) -> Usage:
        """Return the usage that a test has set, or a tiny one."""
        return self.used.get(node.id, Usage(memory=1, cpu_s=0.0, disk=1))

    async def usages(self, nodes: Iterable[Node]) -> Mapping[str, Usage]:
        """Return the usage of each node without its disk."""
        return {node.id: replace(await self.usage(node), disk=None) for node in nodes}
