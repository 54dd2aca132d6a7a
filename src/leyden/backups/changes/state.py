"""The state of the changes in the store, kept in the home folder.

HOME/backup/changes/      0700
├── lock                  held by the one process that follows the database
├── key                   of the current chain; opens no sealed value
├── state.json            the position in the chain, and what is in the store
└── base.json             the chain and position at which the last backup began
"""

from pathlib import Path
from typing import Final, TypeVar

import msgspec

from leyden.backups import backup_files
from leyden.backups.changes.wal import WalPosition
from leyden.backups.store.changes import KEY_BYTES, ChangeChain
from leyden.base.database.urls import is_sqlite
from leyden.base.files import write_private
from leyden.base.settings import Settings
from leyden.values import Struct

_T = TypeVar("_T")
TAG: Final = "changes="  # of a snapshot: its base


class Base(Struct, frozen=True, kw_only=True):
    """The position in a chain at which a backup began, and an object sent after it.

    The backup is consistent with all objects from there through at least that one.
    """

    chain: str
    number: int
    through: int

    def __str__(self) -> str:
        """Return the base as the tag of a snapshot."""
        return f"{TAG}{self.chain}.{self.number}.{self.through}"


class Following(Struct, frozen=True, kw_only=True):
    """The progress of a chain."""

    chain: str
    number: int = 0  # the last object that was read back from the store
    place: WalPosition = WalPosition()
    settled: str = ""  # the database's identity at the end of the chain, if known
    secrets: str = ""  # a digest of the sealing keys that the chain began with
    began: float = 0.0  # when the following process started
    seen: float = 0.0  # commits until then are in the store
    until: float = 0.0  # commits until then can be restored
    trouble: str = ""


def folder(settings: Settings) -> Path:
    """Return the folder of changes in the home."""
    return backup_files.folder(settings) / "changes"


def is_wanted(settings: Settings) -> bool:
    """Return whether this installation sends changes between backups."""
    return (
        settings.backup_changes
        and is_sqlite(settings.database)
        and backup_files.is_ready(settings)
    )


def read(settings: Settings) -> Following | None:
    """Return the progress; None if unknown."""
    return _read(folder(settings) / "state.json", Following)


def save(settings: Settings, found: Following, *, lasting: bool) -> None:
    """Write the progress."""
    path = folder(settings) / "state.json"
    write_private(path, msgspec.json.encode(found), lasting=lasting)


def read_base(settings: Settings) -> Base | None:
    """Return the base of the last backup; None if it has no chain."""
    return _read(folder(settings) / "base.json", Base)


def save_base(settings: Settings, base: Base) -> None:
    """Write the base of the last backup."""
    write_private(folder(settings) / "base.json", msgspec.json.encode(base))


def base_of(tags: tuple[str, ...]) -> Base | None:
    """Return the base of a snapshot, by its tags."""
    for tag in tags:
        chain, *numbers = tag.removeprefix(TAG).split(".")
        if tag.startswith(TAG) and [each.isdecimal() for each in numbers] == [True] * 2:
            number, through = map(int, numbers)
            return Base(chain=chain, number=number, through=through)
    return None


def read_key(settings: Settings, *, chain: str) -> ChangeChain | None:
    """Return a chain of this home with its key; None if the key is of another chain."""
    try:
        found = ChangeChain((folder(settings) / "key").read_bytes())
    except FileNotFoundError:
        return None
    return found if found.name == chain and len(found.key) == KEY_BYTES else None


def save_key(settings: Settings, chain: ChangeChain) -> None:
    """Write the key of a new chain."""
    write_private(folder(settings) / "key", chain.key)


def needs_base(settings: Settings) -> bool:
    """Return whether the current chain has no backup as its base yet."""
    if not is_wanted(settings) or (found := read(settings)) is None or not found.chain:
        return False
    base = read_base(settings)
    return base is None or base.chain != found.chain


def _read(path: Path, kind: type[_T]) -> _T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None  # callers start over
