"""Replicas of a platform on PostgreSQL: of two versions, while it is upgraded.

Each says every few seconds that it runs, and of which version it is. A migration that
takes away what it uses is refused meanwhile, and what it would misread is not offered.
On SQLite there is one.
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Final

from leyden.app.background import background
from leyden.errors import Away, SetupError, Stale
from leyden.services.platform import Platform
from leyden.storage import schema_check

# One that says nothing for so long has died.
SILENT: Final = timedelta(seconds=60)
_BEAT_S: Final = SILENT.total_seconds() / 6
_FORGOTTEN: Final = timedelta(hours=1)
_TOO_OLD: Final = (
    "newer replicas use features that this version of Leyden does not know (its newest "
    "migration is {}); install their version"
)

log = logging.getLogger(__name__)


@asynccontextmanager
async def counted(platform: Platform, id_: str) -> AsyncIterator[None]:
    """Register this replica for the block; raise SetupError if it is too old."""
    if platform.database.is_alone:
        yield
        return
    newest, now = schema_check.newest(), platform.clock()
    async with platform.database.transaction() as tx:
        entered = await tx.replicas.enter(
            id_, newest=newest, until=now + SILENT, delete_before=now - _FORGOTTEN
        )
    if not entered:
        raise SetupError(_TOO_OLD.format(newest))
    try:
        async with background({"replica": partial(_beat, platform, id_, newest)}):
            yield
    finally:
        try:
            async with platform.database.transaction() as tx:
                await tx.replicas.leave(id_)
        except (Away, Stale) as error:
            log.info(
                ("could not announce that this process stops"),
                extra={"why": error.message},
            )


async def _beat(platform: Platform, id_: str, newest: str) -> None:
    while True:
        await asyncio.sleep(_BEAT_S)
        until = platform.clock() + SILENT
        try:
            async with platform.database.transaction() as tx:
                fits = await tx.replicas.heartbeat(id_, newest=newest, until=until)
        except (Away, Stale) as error:
            log.warning(
                ("could not announce that this process runs"),
                extra={"why": error.message},
            )
            continue
        if not fits:  # it was silent for so long that nobody waited for it
            log.error(_TOO_OLD.format(newest))
            signal.raise_signal(signal.SIGTERM)
            return
