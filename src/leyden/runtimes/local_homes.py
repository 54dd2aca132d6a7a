"""What lnd leaves in its folder on this machine."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from leyden import processes
from leyden.domain.nodes import Node
from leyden.lnd import home, sweep
from leyden.lnd.chains import Chain
from leyden.lnd.log import Tail
from leyden.processes import Identity
from leyden.runtimes.base import NOTHING_NEW, Found, Usage
from leyden.runtimes.layout import MOST_OUTPUT, Layout

_MOST_LOG: Final = 1 << 20
# lnd's backup has 100 bytes for each channel and some for itself.
_MOST_BACKUP: Final = 4 << 20
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class LocalHomes:
    """Reads nodes' folders. Links in them are not followed out of them."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._logs: dict[str, Tail] = {}
        self._backups: dict[str, tuple[int, int]] = {}  # inode and time of writing

    async def log(self, node: Node, lines: int) -> list[str]:
        """Give the last lines of lnd's log, and of what it printed when it had none."""
        chain = self._chain(node)
        words = await asyncio.to_thread(
            _last, home.log_file(self._layout.home(node), chain), _MOST_LOG
        )
        if not words:
            words = await asyncio.to_thread(_last, self._layout.output(node), _MOST_LOG)
        text = words.decode(errors="replace")
        return text.splitlines()[-lines:]

    async def channel_backup(self, node: Node) -> bytes | None:
        """Give lnd's own backup of its channels, if it has written one."""
        file = home.channel_backup(self._layout.home(node), self._chain(node))
        return _last(file, _MOST_BACKUP) or None

    def look(self, node: Node) -> Found:
        """Say what is new: three stats where nothing is, 18 µs."""
        _keep_small(self._layout.output(node))
        lnd_home, chain = self._layout.home(node), self._chain(node)
        log = self._logs.get(node.id)
        if log is None:
            file = home.log_file(lnd_home, chain)
            log = self._logs[node.id] = Tail(file, from_start=not file.exists())
        complaints = tuple(log.look())
        file = home.channel_backup(lnd_home, chain)
        try:
            there = file.lstat()
        except OSError:
            return Found(complaints=complaints) if complaints else NOTHING_NEW
        mark = (there.st_ino, there.st_mtime_ns)
        if self._backups.get(node.id) == mark:
            return Found(complaints=complaints) if complaints else NOTHING_NEW
        self._backups[node.id] = mark
        return Found(
            channel_backup=_last(file, _MOST_BACKUP) or None, complaints=complaints
        )

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Remove macaroons that lie about in clear, and name them."""
        return sweep.sweep(self._layout.home(node))

    async def usage(self, node: Node, *, disk: bool = True) -> Usage:
        """Say what the node takes of memory, processor and disk."""
        size = await asyncio.to_thread(_size, self._layout.home(node)) if disk else 0
        fields = _figures(node)
        if not fields:
            return Usage(disk=size)
        return Usage(
            memory=int(fields[21]) * _PAGE,
            cpu_s=(int(fields[11]) + int(fields[12])) / _TICKS,
            disk=size,
            height=log.height if (log := self._logs.get(node.id)) else 0,
        )

    def _chain(self, node: Node) -> Chain:
        return self._layout.grounds[node.network].chain


def _figures(node: Node) -> list[bytes]:
    """Give what the kernel counts of the node's process; none where there is none."""
    return processes.figures(Identity.read(node.process)) if node.has_process else []


def _keep_small(output: Path) -> None:
    """Empty what an lnd that runs has printed, once it is too much.

    It prints a line for each caller whose TLS handshake fails, and whoever may call it
    can do that thousands of times a second.
    """
    with suppress(OSError):  # it has printed nothing yet, or the disk is read-only
        if os.stat(output).st_size > MOST_OUTPUT:  # noqa: PTH116  half as long
            os.truncate(output, 0)


def _last(file: Path, most: int) -> bytes:
    """Read the end of a file; nothing when it is none, or a link."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(opened, "rb") as content:
        size = os.fstat(opened).st_size
        content.seek(max(0, size - most))
        return content.read(most)


def _size(folder: Path) -> int:
    total = 0
    # Looked at right after it was made, a node has no folder yet.
    with suppress(FileNotFoundError):
        for _, _, files, descriptor in os.fwalk(folder):
            for name in files:
                try:
                    found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                except OSError:
                    continue
                total += found.st_blocks * 512
    return total
