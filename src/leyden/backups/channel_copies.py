"""Store channel backups within seconds, between two full backups.

The money in a channel that was opened since the last full backup can be recovered only
with a newer channel backup. Channel backups are small, and encrypted by lnd: when one
changes, the newest ones of all nodes are stored as a separate snapshot, which a restore
adds.
"""

import asyncio
import hashlib
import os
import socket
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from prometheus_client import Gauge

from leyden.backups import backup_files
from leyden.backups.backup_files import Programs
from leyden.backups.keys import installation_id
from leyden.backups.results import recorded
from leyden.backups.store.store import CHANNELS, Snapshot, Store
from leyden.base.database.database import open_database
from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import NotFound, SetupError

CHANNEL_COPIES: Final = "channel backups"
_CHECK_EVERY_S: Final = 1.0
# More than are stored during one transaction: a lower number may be committed later.
_COMPARED: Final = 1_000
_INSTALLATION: Final = "installation"
_LAG: Final = Gauge(
    "leyden_channel_backups_lag_seconds",
    "For how long a channel backup has been on this machine alone; 0 for none.",
)


class ChannelCopies:
    """Copies channel backups into the store whenever one has changed."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        # The numbers and times of the newest that were copied: SQLite gives the number
        # of a deleted node's backup again.
        self._copied: list[tuple[int, datetime]] = []

    async def follow(self, _: ClaimedTask) -> None:
        """Copy new channel backups, as long as the task is ours."""
        programs = None
        while True:
            if backup_files.is_ready(self._platform.settings):
                programs = programs or await backup_files.programs(os.environ)
                await self.copy_new(programs)
            await asyncio.sleep(_CHECK_EVERY_S)

    async def copy_new(self, programs: Programs) -> bool:
        """Copy all channel backups if one is new; return whether one was."""
        reader = self._platform.database.reader
        newest = await reader.backups.newest_channels(limit=_COMPARED)
        if not newest or newest == self._copied:
            _LAG.set(0)
            return False
        _LAG.set((self._platform.clock() - newest[0][1]).total_seconds())
        async with recorded(self._platform, "channels") as found:
            found.snapshot = await self._copy(programs)
        self._copied = newest
        _LAG.set(0)
        return True

    async def _copy(self, programs: Programs) -> str:
        settings = self._platform.settings
        content = await self._platform.database.reader.backups.latest_of_all()
        ours = installation_id(self._platform.sealer)
        with tempfile.TemporaryDirectory(dir=backup_files.folder(settings)) as name:
            folder = Path(name)
            await asyncio.to_thread(_write, folder, content, ours)
            store = backup_files.store(settings, programs)
            added = await store.add(folder, host=socket.gethostname(), kind=CHANNELS)
        return added.id


async def add_newest(
    store: Store,
    snapshots: Sequence[Snapshot],
    url: str,
    folder: Path,
    *,
    since: datetime,
    installation: str,
) -> int:
    """Add channel backups that are newer than a backup to what was restored from it.

    Those that were stored while the backup was being made may be newer, too: until
    `since` its database was copied, and put into the store.
    """
    if not snapshots:
        return 0
    newest = snapshots[-1]
    try:
        await store.fetch(newest, folder)
    except SetupError:
        if newest.made > since:
            raise
        return 0  # most likely the backup has them
    found = await asyncio.to_thread(_read, folder)
    if found.pop(_INSTALLATION, b"").decode() != installation:
        return 0
    database = await open_database(url)
    added = 0
    try:
        for node in await database.reader.nodes.all_():
            if (content := found.get(node.id)) is None:
                continue
            digest = hashlib.sha256(content).digest()
            async with database.transaction() as tx:
                if await _taken(tx, node.id) >= newest.made:
                    continue
                added += await tx.backups.add_channels(
                    node.id, content, digest, now=newest.made
                )
    finally:
        await database.close()
    return added


async def _taken(tx: Stores, node_id: str) -> datetime:
    """Return when the newest channel backup of a node was stored."""
    try:
        return (await tx.backups.latest_channels(node_id)).taken
    except NotFound:
        return datetime.min.replace(tzinfo=UTC)


def _read(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _write(folder: Path, content: dict[str, bytes], installation: str) -> None:
    (folder / _INSTALLATION).write_text(installation)
    for node_id, each in content.items():
        (folder / node_id).write_bytes(each)
