"""Opening an installation: for a command, or before it runs."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from leyden.app.background import background
from leyden.app.shared_clock import SharedClock
from leyden.domain.times import Clock, utc_now
from leyden.errors import Away
from leyden.services.operators import sealing_keys
from leyden.services.platform import Platform
from leyden.settings import Settings
from leyden.storage import schema_check
from leyden.storage.database import Database, open_database
from leyden.storage.secrets import Sealer, load_keyring


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
            async with _told(database) as clock:
                yield Platform(
                    settings=settings,
                    database=database,
                    sealer=sealer,
                    clock=clock,
                    afterwards=afterwards,
                )
        finally:
            await database.close()


@asynccontextmanager
async def _told(database: Database) -> AsyncIterator[Clock]:
    """Yield the clock that all processes of a database share."""
    if database.is_alone:
        yield utc_now
        return
    clock = SharedClock()
    with suppress(Away):  # then it is this machine's, until the database answers
        await clock.set_by(database)
    async with background({"clock": lambda: clock.follow(database)}):
        yield clock
