"""A home that was restored from a backup, and may not run yet.

HOME/restored.json says so until an operator has confirmed that the old machine is
destroyed: two machines with one installation would run two lnds of one node. Then the
home takes over:

1. Refuse where an lnd of the home still runs.
2. Give the home a new identity, and assign the nodes to it.
3. Let it start.

Killed anywhere, the next run goes on.
"""

from pathlib import Path
from typing import Final

import msgspec

from leyden.base.files import write_private
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso, utc_now
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.runtimes.local import layout
from leyden.nodes.runtimes.local.census import lnds
from leyden.nodes.wiring import adoption, identity
from leyden.people import api_keys
from leyden.values import Struct, field, replace

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


async def confirm(
    settings: Settings, *, actor: str, revoke_keys: bool = False
) -> Restored:
    """Take over a restored home: it gets a new identity and the nodes, and may start.

    Nodes whose wallet was lost with the old machine start without one. With
    `revoke_keys`, all API keys are revoked first.
    """
    found = find(settings.home_path)
    if found is None or found.confirmed:
        raise SetupError(
            f"{settings.home_path} is not a restored home that waits for confirmation: "
            "restore one with `leyden backup restore --key FILE`"
        )
    if is_half(settings.home_path):
        raise SetupError(
            f"{settings.home_path}: a restore was killed while it moved files to this "
            "disk; delete everything on it, and restore again"
        )
    if running := sum(lnds(layout.root(settings.home_path)).values()):
        raise SetupError(
            f"{running} lnds of {settings.home_path} run on this machine: stop them "
            "with `leyden down --nodes`, because two lnds of the same node "
            "lose its money"
        )
    identity.ensure(settings.home_path)
    async with opened(settings) as platform:
        revoked = await _revoke_keys(platform, actor) if revoke_keys else 0
        await _adopt(platform, actor)
    confirmed = replace(
        found,
        confirmed=to_iso(utc_now()),
        keys_revoked=found.keys_revoked + revoked,
    )
    save(settings.home_path, confirmed)
    return confirmed


async def _revoke_keys(platform: Platform, actor: str) -> int:
    async with platform.database.transaction() as tx:
        return await api_keys.revoke_all(tx, actor=actor, now=platform.clock())


async def _adopt(platform: Platform, actor: str) -> None:
    async with platform.database.transaction() as tx:
        await tx.audit.add(
            at=platform.clock(),
            actor=actor,
            action="restored home confirmed",
            subject=str(platform.settings.home_path),
        )
    if platform.settings.runs_here:
        await adoption.adopt(
            platform, new_authority=False, start_empty=True, actor=actor
        )
