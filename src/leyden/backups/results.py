"""Results of backups, checks and drills: stored, and shown to operators.

A result is about the whole installation: whether a command or the platform itself made
the backup, all processes can see it, and its age is at `/metrics`.
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final, Literal, cast

from prometheus_client import Gauge

from leyden.backups.changes import state
from leyden.backups.changes.state import Following
from leyden.backups.rows.backup_results import BackupResult
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.errors import LeydenError
from leyden.values import Struct

Kind = Literal["run", "check", "drill", "attended", "channels"]
WORDS: Final[dict[str, str]] = {
    "run": "backup",
    "check": "check of the backups",
    "drill": "restore drill",
    "attended": "restore drill with the recovery key",
    "channels": "copy of channel backups",
}
# Raise an alarm when a drill is overdue by this: after 26 h for a nightly one.
_LATE: Final = timedelta(hours=2)
_LAGS: Final = timedelta(minutes=2)
_SUCCESS: Final = Gauge(
    "leyden_backup_success_timestamp_seconds",
    "When the last backup, check of backups or drill succeeded; 0 is never.",
    ["kind"],
)
_FAILURE: Final = Gauge(
    "leyden_backup_failure_timestamp_seconds",
    "When the last backup, check of backups or drill failed; 0 is never.",
    ["kind"],
)
_TOOK: Final = Gauge(
    "leyden_backup_duration_seconds",
    "How long the last successful backup, check or drill took.",
    ["kind"],
)


class RunResult(Struct):
    """The result of a run so far."""

    snapshot: str = ""
    problems: Sequence[str] = ()


@asynccontextmanager
async def recorded(platform: Platform, *kinds: Kind) -> AsyncIterator[RunResult]:
    """Store the result of the block in the database, including its error.

    Nothing is stored if the block is cancelled.
    """
    began, result = time.monotonic(), RunResult()
    try:
        yield result
    except (LeydenError, OSError) as error:
        result.problems = [str(error)]
        await _keep(platform, kinds, result, began)
        raise
    await _keep(platform, kinds, result, began)


async def _keep(
    platform: Platform, kinds: Sequence[Kind], found: RunResult, began: float
) -> None:
    took_ms = int((time.monotonic() - began) * 1_000)  # it did not begin earlier
    async with platform.database.transaction() as tx:
        for kind in kinds:
            await tx.backup_results.keep(
                BackupResult(
                    kind=kind,
                    ok=not found.problems,
                    at=platform.clock(),
                    took_ms=took_ms,
                    snapshot=found.snapshot,
                    detail="; ".join(found.problems),
                )
            )


def show(results: Sequence[BackupResult]) -> None:
    """Show the results at `/metrics`."""
    for kind in WORDS:
        good, bad = last(results, kind), last(results, kind, ok=False)
        _SUCCESS.labels(kind).set(good.at.timestamp() if good else 0)
        _FAILURE.labels(kind).set(bad.at.timestamp() if bad else 0)
        if good is not None:
            _TOOK.labels(kind).set(good.took_ms / 1_000)


class ShownResult(Struct, frozen=True, kw_only=True):
    """A kind of result as operators see it."""

    what: str
    last_good: datetime | None
    took_s: float | None
    last_failed: datetime | None


async def listed(platform: Platform) -> list[ShownResult]:
    """List when each kind last succeeded and failed; nothing without a store."""
    if not platform.settings.backup_store:
        return []
    found = await platform.database.reader.backup_results.all_()
    lines = []
    for kind, what in WORDS.items():
        good, bad = last(found, kind), last(found, kind, ok=False)
        lines.append(
            ShownResult(
                what=what,
                last_good=good.at if good else None,
                took_s=good.took_ms / 1_000 if good else None,
                last_failed=bad.at if bad else None,
            )
        )
    return lines


def missing(settings: Settings) -> str:
    """Return what to do if no backups are made; "" if they are.

    It is an alarm where nodes can run on mainnet, and a note elsewhere.
    """
    if settings.backup_store:
        return ""
    return (
        "no backups of this installation are made: set backup_store, and run `leyden "
        "backup init`"
    )


def intervals(settings: Settings) -> dict[Kind, timedelta]:
    """Return what runs automatically, and how often."""
    return {
        "run": timedelta(seconds=settings.backup_every_s),
        "drill": timedelta(seconds=settings.backup_drill_every_s),
    }


async def alarms(platform: Platform, *, now: datetime) -> dict[str, str]:
    """Return the alarms about backups, by the job that each is about; usually none."""
    if not platform.settings.backup_store:
        return {}
    results = await platform.database.reader.backup_results.all_()
    every = intervals(platform.settings)
    found = await _lagging(platform, last(results, "channels"), now=now)
    if state.is_wanted(platform.settings):
        found |= _changes(platform.settings, now)
    for kind in WORDS:
        good, bad = last(results, kind), last(results, kind, ok=False)
        if bad is not None and (good is None or bad.at > good.at):
            found[kind] = f"the last {WORDS[kind]} failed: {bad.detail}"
        elif (within := every.get(cast("Kind", kind))) is None:
            continue
        elif good is None:
            found[kind] = f"no {WORDS[kind]} yet: run `leyden backup {kind}`"
        elif now - good.at > within + _LATE:
            hours = (now - good.at) // timedelta(hours=1)
            found[kind] = (
                f"the last successful {WORDS[kind]} was {hours} h ago: run `leyden "
                f"backup {kind}`"
            )
    return found


def _changes(settings: Settings, now: datetime) -> dict[str, str]:
    """Return an alarm if changes have been only on this machine for too long."""
    found = state.read(settings) or Following(chain="")
    late = now - datetime.fromtimestamp(max(found.until, found.began), now.tzinfo)
    if late < _LAGS:
        return {}
    minutes = late // timedelta(minutes=1)
    why = f": {found.trouble}" if found.trouble else ""
    since = f" for {minutes} min" if found.began else ""
    what = f"changes of the database are only on this machine{since}{why}"
    return {"changes": what}


async def _lagging(
    platform: Platform, copied: BackupResult | None, *, now: datetime
) -> dict[str, str]:
    newest = await platform.database.reader.backups.newest_channels(limit=1)
    if not newest or (copied is not None and copied.began >= newest[0][1]):
        return {}
    if (late := now - newest[0][1]) < _LAGS:
        return {}
    minutes = late // timedelta(minutes=1)
    what = f"the newest channel backup has been only on this machine for {minutes} min"
    return {"channels": what}


def is_due(
    results: Sequence[BackupResult], kind: Kind, *, now: datetime, every: timedelta
) -> bool:
    """Return whether to run now: a failure is retried after a tenth of the interval."""
    good, bad = last(results, kind), last(results, kind, ok=False)
    tried = bad is not None and now - bad.at < every / 10
    return not tried and (good is None or now - good.at >= every)


def last(
    results: Sequence[BackupResult], kind: str, *, ok: bool = True
) -> BackupResult | None:
    """Return the last success of a kind, or its last failure."""
    return next((each for each in results if (each.kind, each.ok) == (kind, ok)), None)
