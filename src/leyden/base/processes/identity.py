"""Identities of processes: pid, start tick, boot, program."""

import os
from functools import cache
from pathlib import Path
from typing import Self

from leyden.base.processes.absence import ABSENT
from leyden.base.processes.shell import still_shell
from leyden.values import Struct


class ProcessIdentity(Struct, frozen=True):
    """One run of one program; equal only to itself."""

    pid: int
    started: str  # clock ticks after boot, and which boot
    exe: str

    @classmethod
    def read(cls, written: str) -> Self:
        """Parse the text from `written`."""
        pid, started, exe = written.split(" ", 2)
        return cls(int(pid), started, exe)

    @property
    def written(self) -> str:
        """The identity as text, for `read`."""
        return f"{self.pid} {self.started} {self.exe}"


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of a running process; None if there is none, or a zombie.

    Raise OSError if that can't be read now, for example with too many open files.
    """
    try:
        started = start_of(pid)
        # A zombie has no program, so it counts as not running.
        exe = Path(f"/proc/{pid}/exe").readlink()
    except ABSENT:
        return None
    # A program that was replaced on disk keeps its old name.
    return ProcessIdentity(pid, started, str(exe).removesuffix(" (deleted)"))


def alive(identity: ProcessIdentity) -> bool:
    """Return whether this run is still running; raise OSError if unknown."""
    return identify(identity.pid) == identity


def command_line(identity: ProcessIdentity) -> list[str]:
    """Return the arguments it was started with; empty if it has ended."""
    try:
        words = Path(f"/proc/{identity.pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except ABSENT:
        return []
    return [os.fsdecode(word) for word in words] if alive(identity) else []


def stat_fields(identity: ProcessIdentity) -> list[bytes]:
    """Return the fields of /proc/PID/stat from the third on; empty if it has ended."""
    try:
        fields = _fields(identity.pid)
    except OSError:
        return []
    return fields if _started(fields) == identity.started else []


def start_of(pid: int) -> str:
    """Return when a process (or zombie) started; raise OSError if there is none."""
    return _started(_fields(pid))


def _fields(pid: int) -> list[bytes]:
    # The name may contain anything, even brackets: the fields begin after the last one.
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  half as long
        return file.read().rpartition(b")")[2].split()


def _started(fields: list[bytes]) -> str:
    return f"{fields[19].decode()}@{_boot()}"


@cache
def _boot() -> str:
    """Return the id of this boot, which can't change while we run."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def identify_after_exec(pid: int) -> ProcessIdentity | None:
    """Return the identity once the shell has become the program; None until then."""
    return None if still_shell(pid) else identify(pid)
