"""The clock of an installation on PostgreSQL: the database's time, everywhere.

Claims, deadlines and pauses are times in rows, which one process writes and another
one reads. By the clock of a machine that is an hour ahead, the claims of a worker that
died would be its for an hour.

    clock = SharedClock()
    await clock.set_by(database)
    clock()  # as `utc_now`, from a clock that goes on evenly
"""

import asyncio
import logging
import time
from datetime import datetime, timedelta
from typing import Final

from leyden.domain.times import utc_now
from leyden.errors import Away
from leyden.storage.database import Database

log = logging.getLogger(__name__)

_EVERY_S: Final = 60.0
# An answer that takes longer tells the time worse than what has passed since the last.
_QUICK_S: Final = 1.0
_WRONG: Final = timedelta(seconds=5)


class SharedClock:
    """The database's time when it was last read, plus the time since.

    Until then it is this machine's.
    """

    def __init__(self) -> None:
        self._at, self._since_s = utc_now(), time.monotonic()
        self._is_set = self._is_wrong = False

    def __call__(self) -> datetime:
        """Return the current time."""
        return self._at + timedelta(seconds=time.monotonic() - self._since_s)

    async def set_by(self, database: Database) -> None:
        """Read the database's time; log once if this machine's clock is wrong."""
        asked_s = time.monotonic()
        database_time = await database.now()
        now_s = time.monotonic()
        if self._is_set and now_s - asked_s > _QUICK_S:
            return
        self._is_set = True
        self._at, self._since_s = (
            database_time + timedelta(seconds=now_s - asked_s) / 2,
            now_s,
        )
        ahead = utc_now() - self._at
        is_wrong = abs(ahead) > _WRONG
        if is_wrong and not self._is_wrong:
            log.warning(
                "this machine's clock is not the database's: set both (NTP); "
                "certificates are checked by this machine's",
                extra={"ahead_s": round(ahead.total_seconds())},
            )
        self._is_wrong = is_wrong

    async def follow(self, database: Database) -> None:
        """Read the database's time every minute, until cancelled."""
        while True:
            await asyncio.sleep(_EVERY_S)
            try:
                await self.set_by(database)
            except Away as error:
                log.info("unknown database time", extra={"why": error})
