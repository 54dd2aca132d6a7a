"""Which process is meant: a pid, the tick it started at in which boot, its program."""

import os
from pathlib import Path

from leyden.processes.shell import still_shell
from leyden.values import Struct


class Identity(Struct, frozen=True):
    """One run of one program; equal only to itself."""

    pid: int
    started: str  # clock ticks after boot, and which boot
    exe: str


def identify(pid: int) -> Identity | None:
    """Give the identity of a running process; None when there is none, or a zombie."""
    try:
        started = start_of(pid)
        # A zombie has no program any more, so that this says it is not running.
        exe = Path(f"/proc/{pid}/exe").readlink()
    except OSError:
        return None
    # A program that was replaced on disk goes on under its old name.
    return Identity(pid, started, str(exe).removesuffix(" (deleted)"))


def alive(identity: Identity) -> bool:
    """Tell whether this very run goes on."""
    return identify(identity.pid) == identity


def command_line(identity: Identity) -> list[str]:
    """Give the words it was started with; none when it has ended."""
    try:
        words = Path(f"/proc/{identity.pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []
    return [os.fsdecode(word) for word in words] if alive(identity) else []


def start_of(pid: int) -> str:
    """Tell when a process started, a zombie too; OSError when there is none."""
    # The name may hold anything, brackets too: the fields begin after the last one.
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{fields[19].decode()}@{boot}"


def become(pid: int) -> Identity | None:
    """Give the identity once the shell of a spawn is the program; None until then."""
    return None if still_shell(pid) else identify(pid)
