"""The first answer to each Idempotency-Key, to be given again."""

from datetime import datetime

from leyden.domain.times import from_us, to_us
from leyden.storage.statements import Run
from leyden.storage.written import answers as sql
from leyden.values import Struct


class Saved(Struct, frozen=True, kw_only=True):
    """What is known of an Idempotency-Key."""

    request: bytes
    status: int | None  # None while the first request is being answered
    body: bytes | None
    holder: str
    started: datetime  # or when it was last renewed


class Answers:
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
        """Begin to answer under this key; or give what is known of it already."""
        await self._run(sql.FORGET, of=organization_id, under=key, now=to_us(now))
        if await self._run(
            sql.CLAIM,
            of=organization_id,
            under=key,
            request=request,
            now=to_us(now),
            expires=to_us(expires),
            holder=holder,
        ):
            return None
        rows = await self._run(sql.GET, of=organization_id, under=key)
        kept, status, body, holder, started = rows[0]
        return Saved(
            request=kept,
            status=status,
            body=body,
            holder=holder,
            started=from_us(started),
        )

    async def take_over(
        self,
        organization_id: str,
        key: bytes,
        *,
        now: datetime,
        before: str,
        holder: str,
    ) -> bool:
        """Answer in place of a holder that died; False when someone else does."""
        return bool(
            await self._run(
                sql.TAKE_OVER,
                of=organization_id,
                under=key,
                now=to_us(now),
                before=before,
                holder=holder,
            )
        )

    async def renew(
        self, organization_id: str, key: bytes, *, now: datetime, holder: str
    ) -> bool:
        """Note that the holder still answers; return False when it is another's now."""
        return bool(
            await self._run(
                sql.RENEW,
                of=organization_id,
                under=key,
                now=to_us(now),
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
        """Keep the answer, to be given again until it expires."""
        await self._run(
            sql.SAVE,
            of=organization_id,
            under=key,
            holder=holder,
            status=status,
            body=body,
        )

    async def drop(self, organization_id: str, key: bytes, *, holder: str) -> None:
        """Forget the key: nothing was done under it, so it may be used again."""
        await self._run(sql.DROP, of=organization_id, under=key, holder=holder)

    async def forget(self, *, now: datetime) -> None:
        """Drop all answers that have had their day."""
        await self._run(sql.FORGET_ALL, now=to_us(now))
