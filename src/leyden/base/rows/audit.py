"""The audit log: who did what, when; written with the change itself."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from leyden.base.database.statements import AFTER_ALL, Row, Run, SqlFile
from leyden.base.rules.accounts import new_id
from leyden.base.rules.times import from_us, to_us
from leyden.schemas.node_settings import for_log
from leyden.values import Struct

sql = SqlFile(__file__)

Value = str | int | bool | None
FIRST = (AFTER_ALL, "")  # a position after every entry
PLATFORM: Final = "platform"  # the actor where nobody asked
NODE_FAILED: Final = "node failed"  # an action, whose reason its owner may read


class Line(Struct, frozen=True, kw_only=True):
    """An entry of the audit log."""

    id: str
    at: datetime
    actor: str
    organization_id: str | None
    action: str
    subject: str
    detail: Mapping[str, Any]

    @property
    def position(self) -> tuple[int, str]:
        """The entry's position in chronological order."""
        return to_us(self.at), self.id

    @property
    def changes(self) -> Mapping[str, tuple[object, object]]:
        """The fields that the action changed, each with its old and new value."""
        found: Mapping[str, tuple[object, object]] = self.detail.get("changes", {})
        return found

    @property
    def facts(self) -> Mapping[str, object]:
        """The rest of the detail."""
        shown = {"changes", *self.changes}
        return {name: is_ for name, is_ in self.detail.items() if name not in shown}


class Audit:
    """The rows of audit; rows are only added."""

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
        changes: Mapping[str, tuple[Value, Value]] | None = None,
        **detail: Value,
    ) -> None:
        """Record that the actor did this to the subject; never pass a secret.

        `changes` has the old and the new value of each changed field; the detail also
        has the new values alone.
        """
        new = {name: after for name, (_, after) in (changes or {}).items()}
        stored = {**detail, **new, "changes": changes} if changes else detail
        await self._run(
            sql.add,
            id=new_id(),
            at=to_us(at),
            actor=actor,
            organization_id=organization_id,
            action=action,
            subject=subject,
            detail=msgspec.json.encode(stored).decode(),
        )

    async def latest(self, *, limit: int = 100) -> list[Line]:
        """Return the latest entries, newest first."""
        return [line_of(row) for row in await self._run(sql.latest, limit=limit)]

    async def of_organization(
        self, organization_id: str, *, after: tuple[int, str] | None, limit: int
    ) -> list[Line]:
        """Return an organization's entries, newest first.

        `after` is the `position` of the last entry of the page before.
        """
        at, id_ = after or FIRST
        rows = await self._run(
            sql.of_organization,
            organization_id=organization_id,
            at=at,
            id=id_,
            limit=limit,
        )
        return [line_of(row) for row in rows]

    async def people(self, organization_id: str) -> dict[str, str]:
        """Return the emails of all who were ever members, by actor."""
        rows = await self._run(sql.people, organization_id=organization_id)
        return {f"user:{id_}": email for id_, email in rows}

    async def of_subject(
        self,
        organization_id: str,
        subject: str,
        action: str,
        *,
        since: datetime,
        limit: int,
    ) -> list[Line]:
        """Return the entries for one action on a subject, newest first."""
        rows = await self._run(
            sql.of_subject,
            organization_id=organization_id,
            subject=subject,
            action=action,
            since=to_us(since),
            limit=limit,
        )
        return [line_of(row) for row in rows]

    async def actor(
        self, organization_id: str, subject: str, action: str, *, at: datetime
    ) -> str:
        """Return who did this to a subject at this time; "" if nobody did."""
        rows = await self._run(
            sql.actor,
            organization_id=organization_id,
            subject=subject,
            action=action,
            at=to_us(at),
        )
        return str(rows[0][0]) if rows else ""


def line_of(row: Row) -> Line:
    """Build the entry from a row."""
    id_, at, actor, organization_id, action, subject, detail = row
    return Line(
        id=id_,
        at=from_us(at),
        actor=actor,
        organization_id=organization_id,
        action=action,
        subject=subject,
        detail=_masked(msgspec.json.decode(detail)),
    )


def _masked(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Mask settings that were once written in full."""
    masked = {name: for_log(name, is_) for name, is_ in detail.items()}
    if "changes" in detail:
        masked["changes"] = {
            name: [for_log(name, each) for each in both]
            for name, both in detail["changes"].items()
        }
    return masked
