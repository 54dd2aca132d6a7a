"""Sessions, and how often somebody got a password wrong."""

from datetime import datetime

from sqlalchemy import BigInteger, bindparam, case, delete, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.domain.sign_in import Session
from leyden.domain.times import from_us, to_us
from leyden.storage.statements import Row, Run
from leyden.storage.tables_people import sessions
from leyden.storage.tables_people import sign_in_failures as failures

_shown = [column for column in sessions.c if column.name != "digest"]
_ADD = insert(sessions)
_FIND = select(*_shown).where(sessions.c.digest == bindparam("digest"))
_LIST = (
    select(*_shown)
    .where(sessions.c.user_id == bindparam("user_id"))
    .order_by(sessions.c.seen.desc())
)
_SEEN = (
    update(sessions)
    .where(sessions.c.id == bindparam("session_id"))
    .values(seen=bindparam("now"))
)
_END = (
    delete(sessions)
    .where(
        sessions.c.user_id == bindparam("user_id"),
        sessions.c.id == bindparam("session_id"),
    )
    .returning(sessions.c.id)
)
_END_OTHERS = delete(sessions).where(
    sessions.c.user_id == bindparam("user_id"), sessions.c.id != bindparam("session_id")
)
_FORGET = delete(sessions).where(sessions.c.expires < bindparam("now"))

_again = insert_once(failures).values(
    who=bindparam("who"), since=bindparam("now"), count=1
)
_is_old = failures.c.since < bindparam("start", type_=BigInteger)
_FAILED = _again.on_conflict_do_update(
    index_elements=["who"],
    set_={
        "since": case((_is_old, _again.excluded.since), else_=failures.c.since),
        "count": case((_is_old, 1), else_=failures.c.count + 1),
    },
).returning(failures.c.count, failures.c.since)
_FORGIVE = delete(failures).where(failures.c.who == bindparam("who"))
_TAKE_BACK = (
    update(failures)
    .where(failures.c.who == bindparam("whose"))
    .values(count=failures.c.count - bindparam("attempts", type_=BigInteger))
)
_FORGET_FAILURES = delete(failures).where(failures.c.since < bindparam("start"))


class Sessions:
    """The rows of session and sign_in_failure."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, session: Session, *, digest: bytes) -> None:
        """Keep a new session under the digest of its cookie."""
        await self._run(
            _ADD,
            id=session.id,
            digest=digest,
            user_id=session.user_id,
            created=to_us(session.created),
            seen=to_us(session.seen),
            expires=to_us(session.expires),
            whole=int(session.whole),
            address=session.address,
            browser=session.browser,
        )

    async def find(self, digest: bytes) -> Session | None:
        """Give the session with this digest, however old it is."""
        rows = await self._run(_FIND, digest=digest)
        return _session(rows[0]) if rows else None

    async def list_(self, user_id: str) -> list[Session]:
        """Give a person's sessions, the latest used first."""
        return [_session(row) for row in await self._run(_LIST, user_id=user_id)]

    async def seen(self, session_id: str, *, now: datetime) -> None:
        """Note that it is in use."""
        await self._run(_SEEN, session_id=session_id, now=to_us(now))

    async def end(self, user_id: str, session_id: str) -> bool:
        """End one of a person's sessions; False when it had ended before."""
        return bool(await self._run(_END, user_id=user_id, session_id=session_id))

    async def end_others(self, user_id: str, *, but: str) -> None:
        """End all of a person's sessions but one."""
        await self._run(_END_OTHERS, user_id=user_id, session_id=but)

    async def forget(self, *, now: datetime, start: datetime) -> None:
        """Forget what has expired, and failures from before `start`."""
        await self._run(_FORGET, now=to_us(now))
        await self._run(_FORGET_FAILURES, start=to_us(start))

    async def failed(
        self, who: bytes, *, now: datetime, start: datetime
    ) -> tuple[int, datetime]:
        """Count one more; give how many since when. From `start` on they add up."""
        rows = await self._run(_FAILED, who=who, now=to_us(now), start=to_us(start))
        return rows[0][0], from_us(rows[0][1])

    async def forgive(self, who: bytes) -> None:
        """Forget that they got it wrong: they got it right."""
        await self._run(_FORGIVE, who=who)

    async def take_back(self, who: bytes, *, attempts: int) -> None:
        """Count so many less: they were none."""
        await self._run(_TAKE_BACK, whose=who, attempts=attempts)


def _session(row: Row) -> Session:
    id_, user_id, created, seen, expires, whole, address, browser = row
    return Session(
        id=id_,
        user_id=user_id,
        created=from_us(created),
        seen=from_us(seen),
        expires=from_us(expires),
        whole=bool(whole),
        address=address,
        browser=browser,
    )
