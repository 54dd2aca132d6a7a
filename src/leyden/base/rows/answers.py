"""The first response to each Idempotency-Key, for repeating it."""

from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.values import Struct

sql = SqlFile(__file__)

PURPOSE = "saved answer"  # of sealed responses, together with the organization


class Saved(Struct, frozen=True, kw_only=True):
    """The state of an Idempotency-Key."""

    request: bytes
    status: int | None  # None while the first request is in progress
    body: bytes | None
    holder: str
    started: datetime


class SavedResponses:
    """The rows of saved_answer."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def claim(
        self,
        organization_id: str,
        key: bytes,
        *,
        request: bytes,
        now: datetime,
        expires: datetime,
        holder: str,
    ) -> Saved | None:
        """Claim an Idempotency-Key; return None, or its state if it is in use."""
        await self._run(
            sql.delete_expired, organization_id=organization_id, key=key, now=to_us(now)
        )
        while not await self._run(
            sql.claim,
            organization_id=organization_id,
            key=key,
            request=request,
            now=to_us(now),
            expires=to_us(expires),
            holder=holder,
        ):
            rows = await self._run(sql.get, organization_id=organization_id, key=key)
            if rows:  # else it was dropped or has expired in between
                return _saved(rows[0])
        return None

    async def take_over(
        self,
        organization_id: str,
        key: bytes,
        *,
        now: datetime,
        before: str,
        holder: str,
    ) -> bool:
        """Take over a dead process's claim; return False if another has it."""
        return bool(
            await self._run(
                sql.take_over,
                organization_id=organization_id,
                key=key,
                now=to_us(now),
                before=before,
                holder=holder,
            )
        )

    async def save(
        self,
        organization_id: str,
        key: bytes,
        *,
        holder: str,
        status: int,
        body: bytes,
    ) -> None:
        """Store the response, to be repeated until it expires."""
        await self._run(
            sql.save,
            organization_id=organization_id,
            key=key,
            holder=holder,
            status=status,
            body=body,
        )

    async def drop(self, organization_id: str, key: bytes, *, holder: str) -> None:
        """Delete a key under which nothing was done, so that it can be used again."""
        await self._run(
            sql.drop, organization_id=organization_id, key=key, holder=holder
        )

    async def prune(self, *, now: datetime, limit: int) -> int:
        """Delete some expired responses; return how many."""
        return len(await self._run(sql.prune, now=to_us(now), limit=limit))


def _saved(row: Row) -> Saved:
    request, status, body, holder, started = row
    return Saved(
        request=request,
        status=status,
        body=body,
        holder=holder,
        started=from_us(started),
    )
