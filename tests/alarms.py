"""Alarms that are looked for now, as a worker does every minute."""

from leyden.base.platform import Platform
from leyden.operators.alarm_watch import AlarmWatch


async def check_alarms(platform: Platform) -> None:
    watch = AlarmWatch(platform)
    await watch.check()
    async with platform.database.transaction() as tx:
        await watch.record(tx)
