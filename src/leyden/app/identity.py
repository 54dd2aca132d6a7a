"""Which home this is, and which copy of it: the identity that nodes belong to.

HOME/identity     random, made once by `leyden migrate`

A copy of a home has the same identity in another place: on another machine, or in
another file of this one. The place is the machine's id and the file's inode, which stay
as they are when the folder is renamed, or the machine started anew. The session is the
boot and the container that a process runs in: nodes of one are not seen from another.
"""

import re
import secrets
import socket
from pathlib import Path
from typing import Final

from leyden.errors import SetupError
from leyden.files import write_private
from leyden.values import Struct

FILE: Final = "identity"
_FORM = re.compile(r"[0-9a-f]{32}")
_MACHINE_IDS: Final = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


class Here(Struct, frozen=True, kw_only=True):
    """A home as this process sees it."""

    folder: Path
    identity: str
    place: str
    session: str
    host: str


def ensure(home: Path) -> None:
    """Make the identity of a new home; the second call changes nothing.

    Call it with the home's lock held: two would else make two.
    """
    if not (home / FILE).exists():
        write_private(home / FILE, f"{secrets.token_hex(16)}\n")


def read(home: Path) -> Here:
    """Return which home this is; SetupError when that was never written."""
    path = home / FILE
    try:
        identity, inode = path.read_text().strip(), path.stat().st_ino
    except FileNotFoundError:
        raise SetupError(
            f"{path} is not there; run `leyden migrate` with this home, which makes it"
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
    """Return the machine's id; nothing in containers that have none."""
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
