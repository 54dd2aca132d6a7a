"""Control groups: the kernel limits each node to its share of the machine.

Each node has a group, below one of the installation. It limits the node's memory and
threads, and sets its weight where CPUs are short. A group lasts as long as its lnd: the
next lnd gets a new group, with nothing charged to it.

Only version 2 is supported (one tree with every controller in it): all supported
systems have it. Without root there are no groups, nor in a container that may not
create any.
"""

import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from leyden.base.processes import ProcessIdentity, alive
from leyden.errors import SetupError
from leyden.nodes.runtimes.local.egress_policy import table_of
from leyden.nodes.runtimes.local.placement import Share

MOUNT: Final = Path("/sys/fs/cgroup")
_CONTROLLERS: Final = "cgroup.controllers"
_ENABLED: Final = "cgroup.subtree_control"
_MEMBERS: Final = "cgroup.procs"
# Go has a thread for each blocking call. lnd has some dozens.
_MAX_THREADS: Final = 1_024

# By controller: the file of its limit, and the value to write there.
Limits = Mapping[str, tuple[str, Callable[[Share], int]]]
LIMITS: Final[Limits] = {
    "cpu": ("cpu.weight", lambda share: share.weight),
    "memory": ("memory.max", lambda share: share.memory),
    "pids": ("pids.max", lambda _: _MAX_THREADS),
}

log = logging.getLogger(__name__)


class Cgroups:
    """The control groups of one installation."""

    def __init__(
        self, home: Path, *, mount: Path = MOUNT, limits: Limits = LIMITS
    ) -> None:
        self._name = table_of(home)
        self._mount = mount
        self._limits = limits
        self.folder = mount / self._name

    def unavailable_reason(self) -> str:
        """Return why groups are unavailable here; "" if they are available."""
        try:
            # At the root of the tree: below a service's own group no group may have
            # limits while the service itself is in there.
            known = {*(self._mount / _CONTROLLERS).read_text().split()}
        except OSError:
            return f"{self._mount} has no groups of version 2; start Linux with them"
        # Some machines are started without the controller of memory.
        if missing := self._limits.keys() - known:
            return f"{self._mount} has no groups for {', '.join(sorted(missing))}"
        if not os.access(self._mount, os.W_OK):
            return f"{self._mount} may not be written"
        return ""

    def prepare(self) -> None:
        """Create the parent of the nodes' groups; raise SetupError if that fails."""
        if why := self.unavailable_reason():
            raise SetupError(why)
        try:
            self._open()
        except OSError as error:
            raise SetupError(f"{error.filename}: {error.strerror}") from None

    def hold(self, node_id: str, process: ProcessIdentity, share: Share) -> None:
        """Limit a process to its share; no-op if it has ended or is limited.

        This waits for all CPUs to notice, about ten milliseconds, in which no
        thread can be started: better done when lnd is not just starting.
        """
        if self._is_held(node_id, process):
            return
        group = self.folder / node_id
        try:
            self._open()
            group.mkdir(exist_ok=True)
            for file, value in self._limits.values():
                _write(group / file, value(share))
            if not alive(process):  # another program may have its pid by now
                self.release(node_id)
                return
            _write(group / _MEMBERS, process.pid)
        except ProcessLookupError:
            self.release(node_id)
        except OSError as error:
            why = f"{error.filename}: {error.strerror}"
            log.warning(
                "a node runs without resource limits",
                extra={"node": node_id, "why": why},
            )

    def release(self, node_id: str) -> bool:
        """Remove the group of an lnd that ended; return whether it ran out of memory.

        A group with processes in it stays.
        """
        group = self.folder / node_id
        short = _has_ended_some(group / "memory.events")
        with contextlib.suppress(OSError):
            group.rmdir()
        return short

    def remove(self) -> None:
        """Delete all groups without processes."""
        with contextlib.suppress(OSError):
            for group in self.folder.iterdir():
                if group.is_dir():
                    with contextlib.suppress(OSError):
                        group.rmdir()
            self.folder.rmdir()

    def _open(self) -> None:
        """Create the folder of our groups, and enable limits for groups in it."""
        self.folder.mkdir(exist_ok=True)
        wanted = self._limits.keys()
        for folder in (self._mount, self.folder):
            enabled = folder / _ENABLED
            if not {*enabled.read_text().split()} >= wanted:
                _write(enabled, " ".join(f"+{each}" for each in sorted(wanted)))

    def _is_held(self, node_id: str, process: ProcessIdentity) -> bool:
        try:
            lines = Path(f"/proc/{process.pid}/cgroup").read_text().splitlines()
        except OSError:
            return False
        return any(line.endswith(f"/{self._name}/{node_id}") for line in lines)


def _has_ended_some(counts: Path) -> bool:
    """Return whether the kernel killed a process there for lack of memory."""
    try:
        lines = counts.read_text().splitlines()
    except OSError:
        return False
    return any(line.startswith("oom_kill ") and line[9:] != "0" for line in lines)


def _write(file: Path, value: object) -> None:
    # Opened without O_CREAT: a file that the kernel does not have is an error.
    opened = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(opened, str(value).encode())
    except OSError as error:
        error.filename = str(file)
        raise
    finally:
        os.close(opened)
