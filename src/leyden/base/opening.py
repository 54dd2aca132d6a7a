"""Opening an installation: for a command, or before it runs."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Final

from leyden.base.database import schema_check, sealing_keys
from leyden.base.database.database import Database, open_database
from leyden.base.database.secrets import Sealer, load_keyring
from leyden.base.platform import Platform
from leyden.base.rules.times import Clock, utc_now
from leyden.base.settings import Settings

_WRONG: Final = timedelta(seconds=5)

log = logging.getLogger(__name__)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Platform]:
    """Open the installation's database and keys; reject keys that don't fit."""
    schema_check.check(settings.database)
    path = settings.secrets_path
    keyring = load_keyring(path)
    sealing_keys.check(settings.database, keyring)
    sealer = Sealer(keyring, file=path)
    async with AsyncExitStack() as afterwards:
        database = await open_database(settings.database)
        try:
            yield Platform(
                settings=settings,
                database=database,
                sealer=sealer,
                clock=await clock_of(database),
                afterwards=afterwards,
            )
        finally:
            await database.close()


async def clock_of(database: Database) -> Clock:
    """Return the clock that all processes of a database share: the database's own.

    Claims, deadlines and pauses are times in rows, which one process writes and another
    one reads. By a clock that is an hour ahead, the claims of a process that died would
    last for an hour.
    """
    database_time = await database.now()
    ahead = utc_now() - database_time
    if abs(ahead) > _WRONG:
        log.warning(
            "this machine's clock is not the database's: set both (NTP), and start "
            "again; certificates are checked by this machine's",
            extra={"ahead_s": round(ahead.total_seconds())},
        )
    return lambda: utc_now() - ahead
