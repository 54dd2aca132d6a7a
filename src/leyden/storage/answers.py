"""The first answer to each Idempotency-Key, to be given again."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert

from leyden.domain.times import from_us, to_us
from leyden.storage.statements import Run
from leyden.storage.tables import answers

_mine = (
    answers.c.organization_id == bindparam("of"),
    answers.c.key == bindparam("under"),
)
_FORGET = delete(answers).where(*_mine, answers.c.expires <= bindparam("now"))
_CLAIM = (
    insert(answers)
    .values(
        organization_id=bindparam("of"),
        key=bindparam("under"),
        request=bindparam("request"),
        started=bindparam("now"),
        expires=bindparam("expires"),
        holder=bindparam("holder"),
        status=None,
        body=None,
    )
    .on_conflict_do_nothing()
    .returning(answers.c.key)
)
_GET = select(
    answers.c.request,
    answers.c.status,
    answers.c.body,
    answers.c.holder,
    answers.c.started,
).where(*_mine)
_TAKE_OVER = (
    update(answers)
    .where(*_mine, answers.c.status.is_(None), answers.c.holder == bindparam("before"))
    .values(started=bindparam("now"), holder=bindparam("holder"))
    .returning(answers.c.key)
)
_SAVE = (
    update(answers)
    .where(*_mine, answers.c.holder == bindparam("holder"))
    .values(status=bindparam("status"), body=bindparam("body"))
)
_DROP = delete(answers).where(*_mine, answers.c.holder == bindparam("holder"))
_FORGET_ALL = delete(answers).where(answers.c.expires <= bindparam("now"))


@dataclass(frozen=True, kw_only=True)
class Saved:
    """What is known of an Idempotency-Key."""

    request: bytes
    status: int | None  # None while the first request is being answered
    body: bytes | None
    holder: str
    started: datetime


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
        await self._run(_FORGET, of=organization_id, under=key, now=to_us(now))
        if await self._run(
            _CLAIM,
            of=organization_id,
            under=key,
            request=request,
            now=to_us(now),
            expires=to_us(expires),
            holder=holder,
        ):
            return None
        rows = await self._run(_GET, of=organization_id, under=key)
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
                _TAKE_OVER,
                of=organization_id,
                under=key,
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
        """Keep the answer, to be given again until it expires."""
        await self._run(
            _SAVE,
            of=organization_id,
            under=key,
            holder=holder,
            status=status,
            body=body,
        )

    async def drop(self, organization_id: str, key: bytes, *, holder: str) -> None:
        """Forget the key: nothing was done under it, so it may be used again."""
        await self._run(_DROP, of=organization_id, under=key, holder=holder)

    async def forget(self, *, now: datetime) -> None:
        """Drop all answers that have had their day."""
        await self._run(_FORGET_ALL, now=to_us(now))
