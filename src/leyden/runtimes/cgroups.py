"""Control groups: the kernel holds each node to its share of the machine.

A group for each node, below one of the installation: how much memory it may take, how
much it counts where processors are short, how many threads it may have. A group lasts
as long as its lnd: the next one begins with nothing charged to it.

Both kinds are known: one tree with everything in it (version 2), and a tree for each
controller, below whatever holds us there (version 1). Without root there are none, nor
in a container that may not make any.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

from leyden import logs
from leyden.errors import SetupError
from leyden.processes import Identity, alive
from leyden.runtimes.fence import table_of
from leyden.runtimes.seats import USUAL_WEIGHT, Share
from leyden.values import Struct

MOUNT: Final = Path("/sys/fs/cgroup")
_CONTROLLERS: Final = {"cpu", "memory", "pids"}
_ENABLED: Final = "cgroup.subtree_control"
_MEMBERS: Final = "cgroup.procs"
# Go has a thread for each call that blocks. lnd comes to some dozens.
_MOST_THREADS: Final = 1_024
_USUAL_OF_V1: Final = 1_024  # which is what version 2 calls USUAL_WEIGHT

log = logs.get()


class _Tree(Struct, frozen=True):
    """One hierarchy: where our groups are in it, and what is set there."""

    ours: Path
    limits: Callable[[Share], Mapping[str, int]]
    ended: str = ""  # the file that counts what ended for want of memory


class Cgroups:
    """The groups of one installation."""

    def __init__(self, home: Path, *, mount: Path = MOUNT) -> None:
        self._name = table_of(home)
        self._mount = mount

    def trouble(self) -> str:
        """Say why there cannot be any here; "" when there can."""
        if not (trees := self._trees):
            return f"{self._mount} has no groups for processor, memory and threads"
        for tree in trees:
            if not os.access(tree.ours.parent, os.W_OK):
                return f"{tree.ours.parent} may not be written"
        return ""

    def prepare(self) -> None:
        """Make what the nodes' groups will be in; SetupError where that cannot be."""
        if why := self.trouble():
            raise SetupError(why)
        try:
            for tree in self._trees:
                _open(tree)
        except OSError as error:
            raise SetupError(f"{error.filename}: {error.strerror}") from None

    def hold(self, node_id: str, process: Identity, share: Share) -> None:
        """Hold a process to its share; nothing if it has ended, or is held already.

        It waits for all processors to notice, ten milliseconds say, in which nobody
        can start a thread: that is better done when lnd is not just starting.
        """
        if self._is_held(node_id, process):
            return
        try:
            for tree in self._trees:
                _open(tree)
                group = tree.ours / node_id
                group.mkdir(exist_ok=True)
                for file, value in tree.limits(share).items():
                    _write(group / file, value)
                if not alive(process):  # a stranger may have its pid by now
                    self.let_go(node_id)
                    return
                _write(group / _MEMBERS, process.pid)
        except ProcessLookupError:
            self.let_go(node_id)
        except OSError as error:
            why = f"{error.filename}: {error.strerror}"
            log.warning("a node is not held to its share", node=node_id, why=why)

    def let_go(self, node_id: str) -> bool:
        """Remove the group of an lnd that ended; tell whether its share was too small.

        A group that somebody is in stays.
        """
        short = False
        for tree in self._trees:
            group = tree.ours / node_id
            short = short or (bool(tree.ended) and _ended(group / tree.ended))
            with contextlib.suppress(OSError):
                group.rmdir()
        return short

    def take_down(self) -> None:
        """Remove all groups that nobody is in."""
        for tree in self._trees:
            with contextlib.suppress(OSError):
                for group in tree.ours.iterdir():
                    if group.is_dir():
                        with contextlib.suppress(OSError):
                            group.rmdir()
                tree.ours.rmdir()

    @cached_property
    def _trees(self) -> list[_Tree]:
        """Where our groups are; that stays as it is for as long as the machine runs."""
        if (whole := self._mount / "cgroup.controllers").exists():
            if _CONTROLLERS - {*whole.read_text().split()}:
                return []  # some machines are started without that of memory
            return [_Tree(self._mount / self._name, _of_v2, "memory.events")]
        limits = {
            "memory": (_memory_of_v1, "memory.oom_control"),
            "cpu": (_cpu_of_v1, ""),
            "pids": (_pids, ""),
        }
        own = dict(_own_groups())
        found = []
        for controller, (of, ended) in limits.items():
            root = self._mount / controller
            if not (root / _MEMBERS).exists():
                return []
            # In a container the path may be that of the machine, which is not here.
            below = root / own.get(controller, "").lstrip("/")
            ours = (below if below.is_dir() else root) / self._name
            found.append(_Tree(ours, of, ended))
        return found

    def _is_held(self, node_id: str, process: Identity) -> bool:
        try:
            lines = Path(f"/proc/{process.pid}/cgroup").read_text().splitlines()
        except OSError:
            return False
        end = f"/{self._name}/{node_id}"
        return sum(line.endswith(end) for line in lines) == len(self._trees)


def _open(tree: _Tree) -> None:
    """Make the folder of our groups, and let groups in it have limits."""
    tree.ours.mkdir(exist_ok=True)
    for folder in (tree.ours.parent, tree.ours):
        enabled = folder / _ENABLED
        if enabled.exists() and not {*enabled.read_text().split()} >= _CONTROLLERS:
            _write(enabled, " ".join(f"+{each}" for each in sorted(_CONTROLLERS)))


def _own_groups() -> Iterator[tuple[str, str]]:
    """Give the group that we are in, in each tree of version 1."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path


def _of_v2(share: Share) -> Mapping[str, int]:
    return {
        "memory.max": share.memory,
        "cpu.weight": share.weight,
        **_pids(share),
    }


def _memory_of_v1(share: Share) -> Mapping[str, int]:
    return {"memory.limit_in_bytes": share.memory}


def _cpu_of_v1(share: Share) -> Mapping[str, int]:
    return {"cpu.shares": share.weight * _USUAL_OF_V1 // USUAL_WEIGHT}


def _pids(_: Share) -> Mapping[str, int]:
    return {"pids.max": _MOST_THREADS}


def _ended(counts: Path) -> bool:
    """Tell whether the kernel ended anything there for want of memory."""
    try:
        lines = counts.read_text().splitlines()
    except OSError:
        return False
    return any(line.startswith("oom_kill ") and line[9:] != "0" for line in lines)


def _write(file: Path, value: object) -> None:
    # Opened without O_CREAT: whatever the kernel does not know is an error, no file.
    opened = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(opened, str(value).encode())
    except OSError as error:
        error.filename = str(file)
        raise
    finally:
        os.close(opened)
