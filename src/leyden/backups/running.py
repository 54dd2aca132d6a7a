"""Make a backup.

1. Copy the database, and count what a restore must find in the copy.
2. Encrypt the keys, if they are the same before and after the copy.
3. Put both into the store, with their manifest, and delete old backups there.
"""

import asyncio
import contextlib
import re
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from leyden import __version__
from leyden.backups import backup_files, copies, keys, manifest
from leyden.backups.backup_files import Programs
from leyden.backups.changes import applying, state
from leyden.backups.changes.state import Base
from leyden.backups.copies import Copied
from leyden.backups.keys import Bundle, installation_id
from leyden.backups.manifest import Manifest
from leyden.backups.results import recorded
from leyden.backups.store.store import CHANNELS
from leyden.base.database.secrets import Sealer, parse_keyring
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.values import Struct, replace

_TRIES: Final = 3
_FOLLOWED_WITHIN_S: Final = 30.0
_CHECK_EVERY_S: Final = 0.05
_OF_CHANNELS: Final = ("--keep-last", "5")
_RETENTION: Final = re.compile(
    r"([1-9][0-9]{0,4}) (hourly|daily|weekly|monthly|yearly)"
)


class Made(Struct, frozen=True, kw_only=True):
    """A complete backup."""

    backup: str
    total_bytes: int
    added_bytes: int
    rows: int


async def run(platform: Platform, programs: Programs) -> Made:
    """Make a backup; if it fails, raise SetupError, and the last one stays."""
    settings = platform.settings
    async with recorded(platform, "run") as found:
        keep = list(retention(settings.backup_keep))
        store = backup_files.store(settings, programs)
        with backup_files.working(settings) as work:
            backup_files.check_room(settings, work)
            base = _base(settings)
            copied, bundle = await with_keys(
                settings,
                lambda: copies.copy(
                    settings.database, work, deadline_s=settings.backup_deadline_s
                ),
            )
            if base is not None:
                base = await _followed(
                    settings, base, since=platform.clock().timestamp()
                )
            _refuse_other_keys(platform, bundle)
            sealed = await programs.age.encrypt(
                keys.pack(bundle), backup_files.recipients(settings)
            )
            await asyncio.to_thread((work / keys.NAME).write_bytes, sealed)
            marks = {
                name: await asyncio.to_thread(manifest.file, work / name)
                for name in (copied.name, keys.NAME)
            }
            written = Manifest(
                leyden=__version__,
                schema=copied.schema,
                installation=installation_id(platform.sealer),
                made=to_iso(platform.clock()),
                database=copied.name,
                files=marks,
                facts=copied.facts,
            )
            manifest.write(work, written)
            tags = [f"version={__version__}", *([str(base)] if base else ())]
            added = await store.add(work, host=socket.gethostname(), tags=tags)
        found.snapshot = added.id
        if base is not None:
            state.save_base(settings, base)
        if keep:
            await store.forget(_OF_CHANNELS, kind=CHANNELS)
            await store.forget([*keep, "--prune"])
            if state.is_wanted(settings):
                await applying.prune(store, settings)
        return Made(
            backup=added.id[:8],
            total_bytes=added.total_bytes,
            added_bytes=added.added_bytes,
            rows=sum(copied.facts.rows.values()),
        )


async def with_keys(
    settings: Settings, copy: Callable[[], Awaitable[Copied]]
) -> tuple[Copied, Bundle]:
    """Copy the database and the keys that open it, between two rotations of them."""
    for _ in range(_TRIES):
        before = keys.gather(settings)
        copied = await copy()
        bundle = keys.gather(settings)
        if bundle.files[keys.SECRETS] == before.files[keys.SECRETS]:
            return copied, bundle
    raise SetupError("the sealing keys are being rotated; run this again afterwards")


def _base(settings: Settings) -> Base | None:
    """Return the chain's position, before a copy that lacks only later changes."""
    if not state.is_wanted(settings) or (found := state.read(settings)) is None:
        return None
    if not found.chain:
        return None
    return Base(chain=found.chain, number=found.number, through=found.number)


async def _followed(settings: Settings, base: Base, *, since: float) -> Base | None:
    """Wait until the chain has everything in a copy; return None if it has ended.

    Otherwise pages from before a gap would be applied to a copy from after it.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_FOLLOWED_WITHIN_S):
            while (found := state.read(settings)) and found.chain == base.chain:
                if found.seen > since:
                    return replace(base, through=found.number)
                if since - max(found.seen, found.began) > _FOLLOWED_WITHIN_S:
                    return None  # nothing follows: the platform is not running
                await asyncio.sleep(_CHECK_EVERY_S)
    return None


def _refuse_other_keys(platform: Platform, bundle: Bundle) -> None:
    path = platform.settings.secrets_path
    found = Sealer(parse_keyring(bundle.files[keys.SECRETS], path))
    ours = installation_id(platform.sealer)
    if installation_id(found) != ours:
        raise SetupError(f"secrets_file: {path} was replaced; restart the platform")


def retention(words: str) -> Iterator[str]:
    """Yield restic's options for the backups to keep; raise SetupError if invalid."""
    for each in filter(None, (word.strip() for word in words.split(","))):
        if (found := _RETENTION.fullmatch(each)) is None:
            raise SetupError(
                f'backup_keep: "{each}" is not a number and one of hourly, daily, '
                "weekly, monthly, yearly"
            )
        yield from (f"--keep-{found[2]}", found[1])
