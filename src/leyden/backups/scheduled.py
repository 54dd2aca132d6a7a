"""Backups and drills that the platform runs automatically.

Each is a command in a separate process, because it takes time, memory and CPU: requests
do not wait for it. Its result is in the database, like that of a manual run.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from leyden.backups import results
from leyden.backups.changes import state
from leyden.backups.results import Kind
from leyden.backups.rows.backup_results import BackupResult
from leyden.base.platform import Platform
from leyden.base.tasks.steps import ClaimedTask

BACKUPS: Final = "backups"
_CHECK_EVERY: Final = timedelta(minutes=1)
_CHECK_SOON: Final = timedelta(seconds=5)
_OURSELVES: Final = "from leyden.app.main import main; main()"
_STOPS_WITHIN_S: Final = 10.0

log = logging.getLogger(__name__)


class Scheduled:
    """Runs backups and drills when they are due."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def run_due(self, work: ClaimedTask) -> None:
        """Run what is due, and export the results as metrics."""
        reader = self._platform.database.reader.backup_results
        for kind, every in results.intervals(self._platform.settings).items():
            found = await reader.all_()
            now = self._platform.clock()
            if results.is_due(found, kind, now=now, every=every) or (
                kind == "run" and self._needs_base(found, now)
            ):
                await self._make(kind)
        results.show(await reader.all_())
        soon = state.is_wanted(self._platform.settings)
        due = self._platform.clock() + (_CHECK_SOON if soon else _CHECK_EVERY)
        async with work.transaction() as tx:
            await work.reschedule(tx, due=due)

    def _needs_base(self, found: Sequence[BackupResult], now: datetime) -> bool:
        """Return whether changes need a backup as their base."""
        bad = results.last(found, "run", ok=False)
        tried = bad is not None and now - bad.at < _CHECK_EVERY
        return not tried and state.needs_base(self._platform.settings)

    async def _make(self, kind: Kind) -> None:
        began = self._platform.clock()
        code, said = await _run(
            "backup", kind, home=str(self._platform.settings.home_path)
        )
        if code == 0:
            log.info("%s made", results.WORDS[kind])
            return
        log.error("%s failed", results.WORDS[kind], extra={"why": said})
        saved = await self._platform.database.reader.backup_results.all_()
        if not any(each.kind == kind and each.at >= began for each in saved):
            # It ended before it could store the result itself.
            failed = BackupResult(
                kind=kind, ok=False, at=self._platform.clock(), took_ms=0, detail=said
            )
            async with self._platform.database.transaction() as tx:
                await tx.backup_results.keep(failed)


async def _run(*words: str, home: str) -> tuple[int, str]:
    """Run one of our commands to its end; return its exit code and its last line."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _OURSELVES, *words),
        env={**os.environ, "LEYDEN_HOME": home},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, said = await process.communicate()
    finally:
        if process.returncode is None:
            await _stop(process)
    lines = said.decode(errors="replace").strip().splitlines()
    last = lines[-1].removeprefix("leyden: ") if lines else "it did not say why"
    return process.returncode or 0, last


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Interrupt the command like ctrl-C, so that it stops what it has started."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
        try:
            async with asyncio.timeout(_STOPS_WITHIN_S):
                await process.communicate()
        except TimeoutError:
            process.kill()
            await process.communicate()
