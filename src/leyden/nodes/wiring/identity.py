"""The identity of a home and of its copies: the owner of local nodes.

HOME/identity     random, created once by `leyden migrate`

A copy of a home has the same identity in another place: on another machine,
or in another file on this one. The place is the machine's id and the file's
inode, which survive a rename of the folder and a reboot. The session is the
boot and the container of a process: nodes of one session cannot be seen
from another.
"""

import re
import secrets
import socket
from pathlib import Path
from typing import Final

from leyden.base.files import write_private
from leyden.errors import SetupError
from leyden.values import Struct

FILE: Final = "identity"
_FORM = re.compile(r"[0-9a-f]{32}")
_MACHINE_IDS: Final = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


class Here(Struct, frozen=True, kw_only=True):
    """A home as this process sees it: a folder, and where nodes run."""

    folder: Path
    cluster: str = ""  # the namespace that nodes are in, in words; "": they are here
    identity: str
    place: str
    session: str
    host: str


def in_cluster(home: Path, *, namespace_uid: str, shown: str) -> Here:
    """Return the identity of a home whose nodes are in a namespace of a cluster.

    Every process with access to the namespace sees its nodes, so there are no sessions.
    The first process sets the place.
    """
    return Here(
        folder=home,
        cluster=shown,
        identity=namespace_uid,
        place=secrets.token_hex(16),
        session="cluster",
        host=shown,
    )


def ensure(home: Path) -> None:
    """Create the identity of a new home; a second call has no effect.

    The caller holds the home's lock: two callers would create two
    identities.
    """
    if not (home / FILE).exists():
        write_private(home / FILE, f"{secrets.token_hex(16)}\n")


def read(home: Path) -> Here:
    """Return this home's identity; raise SetupError if it has none."""
    path = home / FILE
    try:
        identity, inode = path.read_text().strip(), path.stat().st_ino
    except FileNotFoundError:
        raise SetupError(
            f"{path} is missing; run `leyden migrate` with this home to create it"
        ) from None
    if not _FORM.fullmatch(identity):
        raise SetupError(
            f"{path}: must hold 32 characters of 0-9 a-f; restore it from your backup"
        )
    return Here(
        folder=home,
        identity=identity,
        place=f"{_machine()}:{inode}",
        session=_session(),
        host=socket.gethostname(),
    )


def _machine() -> str:
    """Return the machine id, or "" in containers that have none."""
    for path in _MACHINE_IDS:
        try:
            if found := path.read_text().strip():
                return found
        except OSError:
            continue
    return ""


def _session() -> str:
    spaces = (str(Path(f"/proc/self/ns/{name}").readlink()) for name in ("pid", "net"))
    return " ".join([_BOOT.read_text().strip(), *spaces])
