"""Who did what, when; written in the transaction that did it."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from leyden.domain.accounts import new_id
from leyden.domain.times import from_us, to_us
from leyden.storage.statements import Row, Run
from leyden.storage.written import audit as sql
from leyden.values import Struct


class Line(Struct, frozen=True, kw_only=True):
    """One thing that somebody changed."""

    at: datetime
    actor: str
    organization_id: str | None
    action: str
    subject: str
    detail: Mapping[str, object]


class Audit:
    """The rows of audit; they are only ever added."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(
        self,
        *,
        at: datetime,
        actor: str,
        action: str,
        subject: str,
        organization_id: str | None = None,
        **detail: str | int | bool | None,
    ) -> None:
        """Note that the actor did this to the subject; never pass a secret."""
        await self._run(
            sql.ADD,
            id=new_id(),
            at=to_us(at),
            actor=actor,
            organization_id=organization_id,
            action=action,
            subject=subject,
            detail=msgspec.json.encode(detail).decode(),
        )

    async def latest(self, *, most: int = 100) -> list[Line]:
        """Give the latest lines, newest first."""
        return [_line(row) for row in await self._run(sql.LATEST, most=most)]

    async def of_subject(
        self,
        organization_id: str,
        subject: str,
        action: str,
        *,
        since: datetime,
        most: int,
    ) -> list[Line]:
        """Give what was done to something of an organization's, newest first."""
        rows = await self._run(
            sql.OF_SUBJECT,
            organization_id=organization_id,
            subject=subject,
            action=action,
            since=to_us(since),
            most=most,
        )
        return [_line(row) for row in rows]


def _line(row: Row) -> Line:
    _, at, actor, organization_id, action, subject, detail = row
    return Line(
        at=from_us(at),
        actor=actor,
        organization_id=organization_id,
        action=action,
        subject=subject,
        detail=msgspec.json.decode(detail),
    )
