"""Alarms that are looked for now, as a worker does every minute."""

from leyden.services.operators.alarm_watch import AlarmWatch
from leyden.services.platform import Platform


async def check_alarms(platform: Platform) -> None:
    watch = AlarmWatch(platform)
    await watch.check()
    async with platform.database.transaction() as tx:
        await watch.record(tx)
