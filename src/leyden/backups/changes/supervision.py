"""Run the process that follows the database, and restart it when it ends."""

import asyncio
import contextlib
import logging
import os
import sys
import time
from asyncio.subprocess import Process
from typing import Final, cast

import msgspec
from prometheus_client import Gauge

from leyden.backups import backup_files
from leyden.backups.changes import state
from leyden.backups.changes.state import Following
from leyden.base.platform import Platform
from leyden.base.tasks.steps import ClaimedTask

CHANGES: Final = "changes"
_CHECK_EVERY_S: Final = 5.0
_AGAIN_S: Final = (1.0, 60.0)
_LASTED_S: Final = 60.0
_ENDS_WITHIN_S: Final = 8.0
_OURSELVES: Final = "from leyden.app.main import main; main()"
_LAG: Final = Gauge(
    "leyden_backup_changes_lag_seconds",
    "How old the newest state of the database is that the store is known to hold.",
)

log = logging.getLogger(__name__)


class ChangesProcess:
    """Keeps one process running that follows the database."""

    def __init__(self, platform: Platform) -> None:
        self._given = platform.settings
        self._afterwards = platform.afterwards
        self._process: Process | None = None
        self._until = 0.0

    async def follow(self, _: ClaimedTask) -> None:
        """Keep the process running as long as the task is ours."""
        found = state.read(self._given)
        self._until = found.until if found else 0.0
        _LAG.set_function(self._lag)
        pause = _AGAIN_S[0]
        while True:
            if not state.is_wanted(self._given):
                await asyncio.sleep(_CHECK_EVERY_S)
                continue
            await backup_files.programs(os.environ)  # built at their first use
            began = time.monotonic()
            code = await self._run()
            if time.monotonic() - began > _LASTED_S:
                pause = _AGAIN_S[0]
            log.error(
                "the process that follows the database stopped; restarting it",
                extra={"code": code, "in_s": pause},
            )
            await asyncio.sleep(pause)
            pause = min(2 * pause, _AGAIN_S[1])

    async def _run(self) -> int | None:
        """Run the process to its end; if cancelled, until the database is closed.

        So the platform's last commits are sent too, and the chain can continue.
        """
        if self._process is None:
            self._afterwards.push_async_callback(self._end)
        await self._end()
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _OURSELVES, "backup", "follow"),
            env={**os.environ, "LEYDEN_HOME": str(self._given.home_path)},
            # It ends when this pipe is closed, however we end.
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        trouble = ""
        async for line in cast("asyncio.StreamReader", process.stdout):
            with contextlib.suppress(msgspec.MsgspecError):
                progress = msgspec.json.decode(line, type=Following)
                self._until = progress.until
                if progress.trouble not in {"", trouble}:
                    log.warning(
                        "can't send changes to the store",
                        extra={"why": progress.trouble},
                    )
                trouble = progress.trouble
        return await process.wait()

    async def _end(self) -> None:
        """Stop the process, after it has sent everything."""
        if self._process is not None and self._process.returncode is None:
            cast("asyncio.StreamWriter", self._process.stdin).close()
            await _ended(self._process)

    def _lag(self) -> float:
        return max(0.0, time.time() - self._until) if self._until else 0.0


async def _ended(process: Process) -> None:
    try:
        async with asyncio.timeout(_ENDS_WITHIN_S):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
