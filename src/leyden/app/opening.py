"""An installation, opened for a command or before it runs."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from leyden.domain.times import utc_now
from leyden.services.operators import sealing_keys
from leyden.services.platform import Platform
from leyden.settings import Settings
from leyden.storage import first_look
from leyden.storage.database import open_database
from leyden.storage.secrets import Sealer, load_keyring


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Platform]:
    """Open the installation's database and keys; reject keys that don't fit."""
    first_look.check(settings.database)
    path = settings.secrets_path
    keyring = load_keyring(path)
    sealing_keys.check(settings.database, keyring)
    sealer = Sealer(keyring, reload=lambda: load_keyring(path))
    async with AsyncExitStack() as afterwards:
        database = await open_database(settings.database)
        try:
            yield Platform(
                settings=settings,
                database=database,
                sealer=sealer,
                clock=utc_now,
                afterwards=afterwards,
            )
        finally:
            await database.close()
