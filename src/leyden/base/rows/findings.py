"""What jobs found wrong, kept because no other table shows it afterwards."""

from collections.abc import Sequence
from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.base.rules.times import to_us

sql = SqlFile(__file__)


class Findings:
    """The rows of finding."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, found: Sequence[Finding], *, now: datetime) -> None:
        """Store what was found; what is known already is kept for longer."""
        await self._run.many(
            sql.add,
            [
                {
                    "kind": each.kind.value,
                    "subject": each.subject,
                    "what": each.what,
                    "found": to_us(now),
                    "until": to_us(now + each.lasts),
                }
                for each in found
            ],
        )

    async def list_(self, *, now: datetime) -> list[tuple[str, str, str]]:
        """Return kind, subject and text of what is kept still."""
        return [
            (kind, subject, what)
            for kind, subject, what in await self._run(sql.list, now=to_us(now))
        ]

    async def replace(
        self,
        kind: AlarmKind,
        found: Sequence[Finding],
        *,
        now: datetime,
        since: datetime,
    ) -> None:
        """Store what is found of a kind; forget what was last found before `since`."""
        await self._run(sql.forget, kind=kind.value, since=to_us(since))
        await self.add(found, now=now)

    async def delete(self, *, now: datetime) -> None:
        """Delete what is no longer kept."""
        await self._run(sql.delete, now=to_us(now))
