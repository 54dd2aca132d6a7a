"""The control groups of a cluster's machines: one for each, in each hierarchy.

The kubelet needs its group in all hierarchies before it starts; it creates the pods'
groups below.
"""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from leyden.errors import SetupError

MOUNT: Final = Path("/sys/fs/cgroup")
_NEEDED: Final = ("cpu", "cpuset", "memory", "pids")
_ALSO: Final = ("hugetlb", "io")
_COPIED: Final = ("cpuset.cpus", "cpuset.mems")
_TRIES: Final = 100
_AGAIN_S: Final = 0.05


def trouble(mount: Path = MOUNT) -> str:
    """Return what prevents control groups for machines; "" if nothing."""
    if (unified := mount / "cgroup.controllers").exists():
        available = {*unified.read_text().split()}
    else:
        available = {each.name for each in _trees(mount)}
    if missing := [each for each in _NEEDED if each not in available]:
        return f"control groups for {', '.join(missing)} in {mount}"
    for tree in _trees(mount):
        if not os.access(tree, os.W_OK):
            return f"control groups that can be written in {tree}"
    return ""


def prepare(name: str, machine: str, mount: Path = MOUNT) -> str:
    """Create the groups of a machine; return their path in each hierarchy."""
    for tree in _trees(mount):
        for group in (tree / name, tree / name / machine):
            try:
                _enable(group.parent)
                group.mkdir(exist_ok=True)
                _copy_processors(group)
            except OSError as error:
                raise SetupError(f"{error.filename}: {error.strerror}") from None
    return f"/{name}/{machine}"


async def remove(name: str, mount: Path = MOUNT) -> None:
    """Remove all groups of a cluster; the kernel may need a moment to empty them."""
    for tree in _trees(mount):
        for _ in range(_TRIES):
            _remove(tree / name)
            if not (tree / name).exists():
                break
            await asyncio.sleep(_AGAIN_S)


def left(name: str, mount: Path = MOUNT) -> list[Path]:
    """List the groups of a cluster that still exist."""
    return [tree / name for tree in _trees(mount) if (tree / name).exists()]


def _trees(mount: Path) -> list[Path]:
    if (mount / "cgroup.controllers").exists():
        return [mount]
    if not mount.is_dir():
        return []
    # A controller that shares a tree has a link to it.
    found = (each for each in sorted(mount.iterdir()) if not each.is_symlink())
    return [each for each in found if (each / "cgroup.procs").exists()]


def _enable(parent: Path) -> None:
    """Enable limits for the groups below, in version 2."""
    file = parent / "cgroup.subtree_control"
    if not file.exists():
        return
    available = {*(parent / "cgroup.controllers").read_text().split()}
    for each in (*_NEEDED, *_ALSO):
        if each in available and each not in file.read_text().split():
            _write(file, f"+{each}")


def _copy_processors(group: Path) -> None:
    """Assign processors to a new group, which has none in version 1."""
    for name in _COPIED:
        file = group / name
        if file.exists() and not (group / "cgroup.controllers").exists():
            value = (group.parent / name).read_text().strip()
            if value and not file.read_text().strip():
                _write(file, value)


def _remove(group: Path) -> None:
    for below in _below(group):
        with contextlib.suppress(OSError):
            below.rmdir()


def _below(group: Path) -> Iterator[Path]:
    for folder, _, _ in os.walk(group, topdown=False):
        yield Path(folder)


def _write(file: Path, value: str) -> None:
    with file.open("r+") as opened:  # the kernel's file, so don't create it
        opened.write(value)
