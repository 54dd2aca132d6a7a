"""Setting up backups: the store, its password, and the recovery key."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from leyden.backups.age import check_recipient
from leyden.backups.recovery import RecoveryKey
from leyden.backups.store import shown
from leyden.errors import SetupError
from leyden.files import write_private
from leyden.services.operators.backups import places
from leyden.services.operators.backups.installation import installation_id
from leyden.services.operators.backups.places import Programs
from leyden.services.platform import Platform
from leyden.values import Struct

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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
    """Create the store and write the recovery key; on an error remove both.

    With recipients of the operator's own, the recovery key lacks the identity.
    """
    settings = platform.settings
    if places.is_ready(settings):
        raise SetupError(
            f"backups of {settings.home_path} are already set up: "
            f"{places.folder(settings)} has the store's password; move it away to "
            "start with another store"
        )
    places.store(settings, programs, password="-")  # noqa: S106  are the settings right?
    identity = ""
    whose = [check_recipient(each) for each in recipients]
    if not whose:
        made = await programs.age.new_identity()
        identity, whose = made.text, [made.recipient]
    _reserve(recovery_key)
    try:
        password = places.create(settings, whose)
        store = places.store(settings, programs)
        key = RecoveryKey(
            store=store.access.place,
            password=password,
            installation=installation_id(platform.sealer),
            identity=identity,
        )
        # Before the store: one whose password nobody has is of no use.
        write_private(recovery_key, key.text())
        await store.create()
    except BaseException:
        os.unlink(recovery_key)  # noqa: PTH108  a file of ours, and we stop
        places.delete(settings)
        raise
    return SetUp(store=shown(store.access.place))


def _reserve(path: Path) -> None:
    """Create the file for its owner alone; raise SetupError if there is one."""
    try:
        os.close(os.open(path, _NEW, 0o600))
    except FileExistsError:
        raise SetupError(f"{path} already exists; choose another file") from None
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}") from None
