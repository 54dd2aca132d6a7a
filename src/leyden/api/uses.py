"""When each key was last used: noted at every request, written down once a minute.

A write for each request would make every caller wait for the disk. A use is written a
second after it, and the key's others of the same minute are not: the time that people
see is right to the minute, and a key that was never used says so.
"""

import asyncio
from datetime import datetime

from leyden import logs
from leyden.errors import LeydenError
from leyden.storage.database import Database

_A_MINUTE_S = 60.0
_SOON_S = 1.0
_MOST = 10_000

log = logs.get()


class Uses:
    """The uses of keys that are not written down yet."""

    def __init__(self, database: Database, *, soon_s: float = _SOON_S) -> None:
        self._database = database
        self._soon_s = soon_s
        self._noted_s: dict[str, float] = {}
        self._unwritten: dict[str, datetime] = {}
        self._writing: set[asyncio.Task[None]] = set()

    def note(self, key_id: str, *, now: datetime, at_s: float) -> None:
        """Take down that this key is used now."""
        noted_s = self._noted_s.get(key_id)
        if noted_s is not None and at_s - noted_s < _A_MINUTE_S:
            return
        if len(self._noted_s) >= _MOST:
            self._noted_s.clear()
        self._noted_s[key_id] = at_s
        if not self._unwritten:
            asyncio.get_running_loop().call_later(self._soon_s, self._begin)
        self._unwritten[key_id] = now

    def _begin(self) -> None:
        task = asyncio.create_task(self._write())
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write(self) -> None:
        used, self._unwritten = self._unwritten, {}
        try:
            async with self._database.transaction() as tx:
                await tx.keys.used(used)
        except LeydenError as error:  # the next minute tells it as well
            log.warning("uses of keys were not written down", why=error.message)
