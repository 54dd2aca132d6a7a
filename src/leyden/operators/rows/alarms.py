"""Raised alarms, stored so that each is announced once when it begins and ends."""

from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.values import Struct

sql = SqlFile(__file__)


class RaisedAlarm(Struct, frozen=True, kw_only=True):
    """An alarm that was announced as raised, and not yet as cleared."""

    kind: str
    subject: str  # what it is about; empty for the whole installation
    reason: str  # tells alarms of one kind and subject apart
    what: str
    since: datetime

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from other alarms."""
        return self.kind, self.subject, self.reason


class Alarms:
    """The rows of raised_alarm."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def list_(self) -> list[RaisedAlarm]:
        """Return the alarms that are raised, ordered by kind and age."""
        return [
            RaisedAlarm(
                kind=kind,
                subject=subject,
                reason=reason,
                what=what,
                since=from_us(since),
            )
            for kind, subject, reason, what, since in await self._run(sql.list)
        ]

    async def add(self, alarm: RaisedAlarm) -> bool:
        """Store a raised alarm; return False if it is already raised."""
        rows = await self._run(
            sql.add,
            kind=alarm.kind,
            subject=alarm.subject,
            reason=alarm.reason,
            what=alarm.what,
            since=to_us(alarm.since),
        )
        return bool(rows)

    async def describe(self, alarm: RaisedAlarm, what: str) -> None:
        """Change the text of a raised alarm."""
        kind, subject, reason = alarm.key
        await self._run(
            sql.describe, kind=kind, subject=subject, reason=reason, what=what
        )

    async def remove(self, alarm: RaisedAlarm) -> bool:
        """Clear an alarm; return False if it is not raised."""
        kind, subject, reason = alarm.key
        rows = await self._run(sql.remove, kind=kind, subject=subject, reason=reason)
        return bool(rows)

    async def checked_at(self) -> datetime | None:
        """Return when the alarms were checked last; None if they never were."""
        rows = await self._run(sql.checked_at)
        return from_us(rows[0][0]) if rows else None

    async def keep_check(self, at: datetime) -> None:
        """Store when the alarms were checked last."""
        await self._run(sql.keep_check, at=to_us(at))
