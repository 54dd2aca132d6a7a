"""The files that lnd leaves in its folder on this machine."""

import asyncio
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from leyden.base import processes
from leyden.base.files import open_theirs_below
from leyden.base.processes import ProcessIdentity
from leyden.nodes.lnd import home, identity, sweep, tail
from leyden.nodes.lnd.chains import Chain
from leyden.nodes.lnd.tail import NewLines
from leyden.nodes.rules.log_positions import LogPosition
from leyden.nodes.rules.nodes import Node
from leyden.nodes.runtimes.base import NO_CHANGES, STOPPED, HomeChanges, Usage
from leyden.nodes.runtimes.local.layout import MAX_OUTPUT, Layout
from leyden.values import Struct, replace

_MAX_LOG: Final = 1 << 20
# lnd's backup takes 100 bytes per channel, and a few more.
_MAX_BACKUP: Final = 4 << 20
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
# After so many nodes, other tasks get a turn: one takes 30 µs, with its log 100.
_AT_A_TIME: Final = 10


class _Files(Struct):
    """A node's paths as text: creating a Path takes longer than a stat."""

    log: str
    output: str
    backup: str
    height: int = 0  # of the last block that the log mentions
    is_followed: bool = False  # whether `read_changes` follows the log in this process
    size: int = -1  # of the log when its end was read
    mark: tuple[int, int] | None = None  # the backup's: inode and time of writing


class LocalNodeFiles:
    """A reader of nodes' folders, which follows no links out of them."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._files: dict[str, _Files] = {}

    async def log(self, node: Node, lines: int) -> list[str]:
        """Return the last lines of lnd's log, or of its output if it has no log.

        Owners read them, and must not learn the paths of this machine: the node's
        folder is replaced by lnd's default, ~/.lnd.
        """
        return await asyncio.to_thread(self._log, node, lines)

    def _log(self, node: Node, lines: int) -> list[str]:
        file = home.log_file(self._layout.home(node), self._chain(node))
        folder = self._layout.folder(node)
        words = _last_lines(folder, file)
        words = words or _last_lines(folder, self._layout.output(node))
        text = self._without_paths(words.decode(errors="replace"), node)
        return text.splitlines()[-lines:]

    async def channel_backup(self, node: Node) -> bytes | None:
        """Return lnd's own backup of its channels, if it has written one."""
        file = home.channel_backup(self._layout.home(node), self._chain(node))
        return _last(self._layout.folder(node), file, _MAX_BACKUP) or None

    async def public_key(self, node: Node) -> str:
        """Return the public key that lnd wrote into its graph."""
        file = home.graph(self._layout.home(node), self._chain(node))
        return await asyncio.to_thread(identity.read, file)

    def read_changes(self, node: Node, position: LogPosition) -> HomeChanges:
        """Return the changes; without any this takes three stats, 5 µs."""
        files = self._files_of(node)
        files.is_followed = True
        _limit_size(files.output)
        new_lines = tail.read_new(files.log, position)
        if new_lines is not None:
            files.height = new_lines.height or files.height
        try:
            stat = os.lstat(files.backup)
        except OSError:
            return HomeChanges(log=new_lines) if new_lines is not None else NO_CHANGES
        mark = (stat.st_ino, stat.st_mtime_ns)
        if files.mark == mark:
            return HomeChanges(log=new_lines) if new_lines is not None else NO_CHANGES
        backup = _last(self._layout.folder(node), Path(files.backup), _MAX_BACKUP)
        if backup:  # else it could not be opened: the next call retries
            files.mark = mark
        return HomeChanges(channel_backup=backup or None, log=new_lines)

    async def catch_up(self, node: Node, position: LogPosition) -> NewLines:
        """Read the rest of the log, in a thread: 16 MiB take tenths of a second."""
        files = self._files_of(node)
        new_lines = await asyncio.to_thread(tail.catch_up, files.log, position)
        files.height = new_lines.height or files.height
        return new_lines

    def _files_of(self, node: Node) -> _Files:
        if (files := self._files.get(node.id)) is None:
            lnd_home, chain = self._layout.home(node), self._chain(node)
            log = str(home.log_file(lnd_home, chain))
            files = self._files[node.id] = _Files(
                log=log,
                output=str(self._layout.output(node)),
                backup=str(home.channel_backup(lnd_home, chain)),
                height=tail.height_at_the_end(log),
            )
        return files

    def _height(self, node: Node) -> int:
        """Return the last height, read from the log's end if nobody here follows it."""
        files = self._files_of(node)
        if not files.is_followed:
            with suppress(OSError):  # lnd has not started yet, or is between two files
                size = os.stat(files.log).st_size  # noqa: PTH116  half as long
                if size != files.size:
                    files.size = size
                    files.height = tail.height_at_the_end(files.log) or files.height
        return files.height

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Delete plaintext macaroons and return their names."""
        return sweep.sweep(self._layout.home(node))

    async def usage(self, node: Node) -> Usage:
        """Return the node's use of memory, CPU and disk."""
        size = await asyncio.to_thread(_size, self._layout.home(node))
        return replace(self._used(node), disk=size)

    async def usages(self, nodes: Iterable[Node]) -> Mapping[str, Usage]:
        """Return each node's use of memory and CPU."""
        found = {}
        for number, node in enumerate(nodes, start=1):
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
            found[node.id] = self._used(node)
        return found

    def _used(self, node: Node) -> Usage:
        fields = _stat_fields(node)
        if not fields:
            return STOPPED
        return Usage(
            memory=int(fields[21]) * _PAGE,
            cpu_s=(int(fields[11]) + int(fields[12])) / _TICKS,
            height=self._height(node),
        )

    def _without_paths(self, text: str, node: Node) -> str:
        for folder, shown in (
            (self._layout.home(node), "~/.lnd"),
            (self._layout.folder(node), "~"),
            (self._layout.root.parent, "~"),
        ):
            # The folder and the paths in it, but no path that only begins alike.
            text = re.sub(rf"{re.escape(str(folder))}(?![\w-])", shown, text)
        return text

    def _chain(self, node: Node) -> Chain:
        return self._layout.grounds[node.network].chain


def _stat_fields(node: Node) -> list[bytes]:
    """Return the fields of the process's /proc stat; none without a process."""
    return (
        processes.stat_fields(ProcessIdentity.read(node.process))
        if node.has_process
        else []
    )


def _limit_size(output: str) -> None:
    """Empty the output file of a running lnd once it is too large.

    lnd prints a line for each caller whose TLS handshake fails, and any allowed
    caller can cause thousands of them a second. The file is not moved away as
    our own logs are: a full disk has no room for a copy.
    """
    with suppress(OSError):  # it has printed nothing yet, or the disk is read-only
        if os.stat(output).st_size > MAX_OUTPUT:  # noqa: PTH116  half as long
            os.truncate(output, 0)


def _last(folder: Path, file: Path, limit: int) -> bytes:
    """Return the end of a node's file; empty if it is missing, or behind a link."""
    try:
        opened = open_theirs_below(folder, file)
    except OSError:
        return b""
    with os.fdopen(opened, "rb") as content:
        size = os.fstat(opened).st_size
        content.seek(max(0, size - limit))
        return content.read(limit)


def _last_lines(folder: Path, file: Path) -> bytes:
    """Return the end of a log, starting at the beginning of a line.

    A line that was cut may begin within a path, which would then not be recognized
    as one of ours and not be replaced.
    """
    # One more byte shows whether the log is longer.
    words = _last(folder, file, _MAX_LOG + 1)
    return words if len(words) <= _MAX_LOG else words.partition(b"\n")[2]


def _size(folder: Path) -> int:
    total = 0
    # A node that was just created has no folder yet.
    with suppress(FileNotFoundError):
        for _, _, files, descriptor in os.fwalk(folder):
            for name in files:
                try:
                    found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                except OSError:
                    continue
                total += found.st_blocks * 512
    return total
