"""API keys' last use: noted at each request, written once a minute.

A write for each request would make every client wait for the disk. A use is
written one second later, and the key's other uses in that minute are
skipped: the shown time is accurate to a minute, and a key that was never
used is shown as such.
"""

import asyncio
import logging
from datetime import datetime

from leyden.base.database.database import Database
from leyden.errors import LeydenError

_A_MINUTE_S = 60.0
_SOON_S = 1.0
_LIMIT = 10_000

log = logging.getLogger(__name__)


class Uses:
    """Uses of API keys that are not written to the database yet."""

    def __init__(self, database: Database, *, soon_s: float = _SOON_S) -> None:
        self._database = database
        self._soon_s = soon_s
        self._noted_s: dict[str, float] = {}
        self._unwritten: dict[str, datetime] = {}
        self._writing: set[asyncio.Task[None]] = set()

    def note(self, key_id: str, *, now: datetime, at_s: float) -> None:
        """Record a use of the key, at most once a minute."""
        noted_s = self._noted_s.get(key_id)
        if noted_s is not None and at_s - noted_s < _A_MINUTE_S:
            return
        if len(self._noted_s) >= _LIMIT:
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
            log.warning(
                "could not record the use of keys", extra={"why": error.message}
            )
