"""Setting up backups: the store, its password, and the recovery key."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from leyden.backups import backup_files
from leyden.backups.backup_files import Programs
from leyden.backups.keys import installation_id
from leyden.backups.store.age import check_recipient
from leyden.backups.store.recovery import RecoveryKey
from leyden.backups.store.store import Store, shown
from leyden.base.files import write_private
from leyden.base.platform import Platform
from leyden.errors import SetupError
from leyden.values import Struct

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LIMIT: Final = 1 << 16  # of a recovery key


class SetUp(Struct, frozen=True, kw_only=True):
    """The store that was created."""

    store: str


async def set_up(
    platform: Platform,
    programs: Programs,
    recovery_key: Path,
    *,
    recipients: Sequence[str] = (),
) -> SetUp:
    """Create the store and write the recovery key; on an error remove the key.

    After a kill or an error, call this again: it uses the same password, so a store
    that was created is found. With recipients of the operator's own, the recovery key
    lacks the identity.
    """
    settings = platform.settings
    backup_files.store(settings, programs, password="-")  # noqa: S106  are the settings right?
    whose = [check_recipient(each) for each in recipients]
    with backup_files.setting_up(settings):
        if backup_files.is_ready(settings):
            raise SetupError(
                f"backups of {settings.home_path} are already set up: "
                f"{backup_files.folder(settings)} has the store's password; move it "
                "away to start with another store"
            )
        identity = ""
        if not whose:
            made = await programs.age.new_identity()
            identity, whose = made.text, [made.recipient]
        password, again = backup_files.begin(settings)
        store = backup_files.store(settings, programs, password=password)
        key = RecoveryKey(
            store=store.access.location,
            password=password,
            installation=installation_id(platform.sealer),
            identity=identity,
        )
        _reserve(recovery_key, left_with=password if again else "")
        try:
            # Before the store: one whose password nobody has is of no use.
            write_private(recovery_key, key.text())
            backup_files.save_recipients(settings, whose)
            await _create(store, again=again)
        except BaseException:
            os.unlink(recovery_key)  # noqa: PTH108  a file of ours, and we stop
            raise
        backup_files.finish(settings)
        return SetUp(store=shown(store.access.location))


async def _create(store: Store, *, again: bool) -> None:
    try:
        await store.create()
    except SetupError:
        if not (again and await _opens(store)):
            raise


async def _opens(store: Store) -> bool:
    try:
        await store.all_snapshots()
    except SetupError:
        return False
    return True


def _reserve(path: Path, *, left_with: str) -> None:
    """Create the file for its owner alone; raise SetupError if there is one.

    A recovery key that a setup with this password left, or an empty file, is replaced:
    no backup exists yet that it opens.
    """
    try:
        os.close(os.open(path, _NEW, 0o600))
    except FileExistsError:
        if not (left_with and _is_left(path, left_with)):
            message = f"{path} already exists; choose another file"
            raise SetupError(message) from None
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}") from None


def _is_left(path: Path, password: str) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        content = file.read(_LIMIT)
    return not content or f"# password: {password}\n".encode() in content
