"""The file system of a machine: read-only parts of the host, and folders of its own.

A kubelet writes to /var/log, /var/lib, /etc and /usr, whatever its configuration. So a
machine has a root of its own in memory, in which it can write only to the folders of
the host that are assigned to it.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import leyden
import leyden_workshop
from leyden_workshop.devcluster.plans import PlannedStep, shell, step

_SYSTEM: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr")
_OF_ETC: Final = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"),
    *("group", "passwd", "nsswitch.conf", "hosts", "localtime", "ssl"),
)
_BIND: Final = """
mkdir -p "$(dirname "$2")"
if [ -d "$1" ]; then mkdir -p "$2"; else : > "$2"; fi
mount --bind "$1" "$2"
"""
_READ_ONLY: Final = f'{_BIND}mount -o remount,bind,ro "$2"\n'
_BASE: Final = """
mount -t tmpfs -o mode=755 leyden "$1"
cd "$1"
mkdir proc sys dev run tmp etc var root old
chmod 1777 tmp
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs -o mode=755 run run
"""
_PIVOT: Final = """
cd "$1"
pivot_root . old
umount -l /old
rmdir /old
"""


def steps(
    root: Path, *, writable: Mapping[Path, str], cache: Path
) -> Iterator[PlannedStep]:
    """Return the steps that create a root and change to it; `root` is an empty folder.

    `writable` maps folders of the host to their paths in the new root.
    """
    yield shell(_BASE, root)
    for name in _SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            yield step("ln", "-s", path.readlink(), root / name)
        elif path.is_dir():
            yield shell(_READ_ONLY, path, root / name)
    for name in _OF_ETC:
        path = Path("/etc", name)
        if path.exists():
            yield shell(_READ_ONLY, path, f"{root}{path}")
    # On the host this is often a link into /run, which does not exist here.
    yield shell('cat /etc/resolv.conf > "$1" || : > "$1"', root / "etc/resolv.conf")
    for path in (cache, *ours()):
        yield shell(_READ_ONLY, path, f"{root}{path}")
    for path, target in writable.items():
        yield shell(_BIND, path, f"{root}{target}")
    yield shell(_PIVOT, root)


def ours() -> Sequence[Path]:
    """Return the folders of Python and Leyden, without system folders."""
    found = {Path(each.__path__[0]).parent for each in (leyden, leyden_workshop)}
    for prefix in (sys.prefix, sys.base_prefix):
        found |= {Path(prefix), Path(prefix).resolve()}
    executable = Path(sys.executable)
    while executable.is_symlink():
        executable = executable.parent / executable.readlink()
        found.add(Path(os.path.normpath(executable)).parent.parent)
    outside = {each for each in found if Path("/usr") not in (each, *each.parents)}
    outside -= {Path("/"), Path("/usr")}
    return sorted(
        each
        for each in outside
        if not any(other in each.parents for other in outside - {each})
    )
