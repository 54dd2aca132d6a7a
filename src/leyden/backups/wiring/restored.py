"""A home that was restored from a backup, and may not run yet.

HOME/restored.json says so until an operator has confirmed that the old machine is
destroyed: two machines with one installation would run two lnds of one node.
"""

from pathlib import Path
from typing import Final

import msgspec

from leyden.base.files import write_private
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.values import Struct, field

FILE: Final = "restored.json"
BESIDE: Final = ".restoring"  # where a restore works, in a home that is a disk
NEW: Final = "home"  # there: what is not moved into the home yet


class Restored(Struct, frozen=True, kw_only=True):
    """What was restored, and what a person has to check."""

    backup: str
    made: str  # when the backup was
    until: str = ""  # what happened after that is not known
    restored: str
    host: str  # of the machine that was backed up
    confirmed: str = ""  # when an operator said that the old machine is destroyed
    sessions_ended: int = 0
    keys_revoked: int = 0
    review: dict[str, list[str]] = field(default_factory=dict)


def find(home: Path) -> Restored | None:
    """Return what was restored into a home; None if nothing was."""
    try:
        return msgspec.json.decode((home / FILE).read_bytes(), type=Restored)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise SetupError(f"{home / FILE}: cannot be read: {error}") from None


def save(home: Path, restored: Restored) -> None:
    """Write what was restored."""
    content = msgspec.json.format(msgspec.json.encode(restored), indent=2)
    write_private(home / FILE, content)


def is_half(home: Path) -> bool:
    """Return whether a restore was killed while it moved files into the home."""
    new = home / BESIDE / NEW
    return (home / FILE).exists() and new.is_dir() and any(new.iterdir())


def refuse_unconfirmed(settings: Settings) -> None:
    """Raise SetupError where a restored home may not run yet."""
    found = find(settings.home_path)
    if found is not None and not found.confirmed:
        raise SetupError(
            f"{settings.home_path} was restored from a backup of {found.host}, and "
            "can't start until you confirm that the old machine can't run any more: "
            "`leyden backup restore --old-machine-is-destroyed`"
        )
