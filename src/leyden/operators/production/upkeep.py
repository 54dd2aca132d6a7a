"""Checks of backups and monitoring."""

from datetime import timedelta
from pathlib import Path
from typing import Final

import aiohttp

from leyden.backups import backup_files, results
from leyden.backups.results import Kind
from leyden.base.platform import Platform
from leyden.base.settings import own_names
from leyden.operators import oversight

_DRILLED: Final = timedelta(hours=26)
_QUARTER: Final = timedelta(days=92)


async def durable(platform: Platform) -> str:
    """Check the database's durability."""
    return "; ".join(await platform.database.durability_risks())


async def store(platform: Platform) -> str:
    """Check where backups go."""
    settings = platform.settings
    if not settings.backup_store:
        return "set backup_store, and run `leyden backup init`"
    if not backup_files.is_ready(settings):
        return "run `leyden backup init`"
    if _device(settings.backup_store) == _device(settings.home):
        return (
            f"{settings.backup_store} is on the same disk as the home, so you would "
            "lose both together: choose another disk"
        )
    return ""


async def backed_up(platform: Platform) -> str:
    """Check the last backup."""
    every = timedelta(seconds=platform.settings.backup_every_s)
    return await _fresh(platform, "run", "leyden backup run", within=2 * every)


async def drilled(platform: Platform) -> str:
    """Check the last drill."""
    return await _fresh(platform, "drill", "leyden backup drill", within=_DRILLED)


async def attended(platform: Platform) -> str:
    """Check the last drill with the recovery key."""
    command = "leyden backup drill --key FILE"
    return await _fresh(platform, "attended", command, within=_QUARTER)


async def metrics(platform: Platform) -> str:
    """Scrape the metrics."""
    settings = platform.settings
    if not settings.metrics_port:
        return "set metrics_port, and scrape it"
    host = own_names.local_names(settings.metrics_host)[0]
    url = f"http://{host}:{settings.metrics_port}/metrics"
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            text = await response.text()
    except aiohttp.ClientError:
        return f"{url} does not respond: check that the platform is running"
    return "" if "leyden_" in text else f"{url} is not Leyden's"


async def alarms(platform: Platform) -> str:
    """Check that there are no alarms."""
    overview = await oversight.overview(platform, now=platform.clock())
    found = [each.what for each in overview.alarms]
    return "; ".join([*found, overview.not_checked] if overview.not_checked else found)


async def _fresh(
    platform: Platform, kind: Kind, command: str, *, within: timedelta
) -> str:
    found = await platform.database.reader.backup_results.all_()
    good, bad = results.last(found, kind), results.last(found, kind, ok=False)
    if bad is not None and (good is None or bad.at > good.at):
        if not backup_files.is_ready(platform.settings):
            return "first set up backups, see above"
        return f"the last run failed: {bad.detail}. Fix that, then run `{command}`"
    if good is None or platform.clock() - good.at > within:
        return f"run `{command}`"
    return ""


def _device(path: str) -> int | None:
    """Return the disk that a folder is on; None if it is not on this machine."""
    folder = Path(path).expanduser()
    return folder.stat().st_dev if folder.is_dir() else None
