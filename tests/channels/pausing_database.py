"""A database before whose next transaction something else happens, in full."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from leyden.base.database.database import Database
from leyden.base.database.stores import Stores
from tests.channels.failing_database import FailingDatabase, Fuse

Happens = Callable[[], Awaitable[object]]


class PausingDatabase(FailingDatabase):
    """Whoever acts has looked before; what happens between the two, a test says."""

    def __init__(self, database: Database, happens: Happens | None = None) -> None:
        super().__init__(database, Fuse(steps=0, after=False))
        self.happens = happens

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Stores]:
        if self.happens is not None:
            happens, self.happens = self.happens, None
            await happens()
        async with super().transaction() as tx:
            yield tx
