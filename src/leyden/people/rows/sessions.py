"""Sessions, and counts of failed attempts to sign in."""

from datetime import datetime, timedelta

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.sign_in import Session
from leyden.base.rules.times import from_us, to_us

sql = SqlFile(__file__)

KEEP_NEWEST = 50  # for each person, and as many that wait for a code


class Sessions:
    """The rows of session and sign_in_failure."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, session: Session, *, digest: bytes) -> None:
        """Store a new session under the digest of its cookie."""
        await self._run(
            sql.add,
            id=session.id,
            digest=digest,
            user_id=session.user_id,
            created=to_us(session.created),
            seen=to_us(session.last_seen),
            expires=to_us(session.expires),
            whole=int(session.is_complete),
            address=session.address,
            browser=session.browser,
        )

    async def limit_sessions(self, user_id: str, *, is_complete: bool) -> None:
        """End a person's sessions except the most recently used ones of this kind."""
        await self._run(
            sql.limit_sessions,
            user_id=user_id,
            whole=int(is_complete),
            limit=KEEP_NEWEST,
        )

    async def find(self, digest: bytes) -> Session | None:
        """Return the session with this digest, expired or not."""
        rows = await self._run(sql.find, digest=digest)
        return session_of(rows[0]) if rows else None

    async def list_(self, user_id: str) -> list[Session]:
        """Return a person's sessions, the most recently used first."""
        return [session_of(row) for row in await self._run(sql.list, user_id=user_id)]

    async def record_use(self, session_id: str, *, now: datetime) -> None:
        """Record that the session was used now."""
        await self._run(sql.record_use, id=session_id, now=to_us(now))

    async def end(self, user_id: str, session_id: str) -> bool:
        """End a person's session; return False if it had ended before."""
        return bool(await self._run(sql.end, user_id=user_id, id=session_id))

    async def end_others(self, user_id: str, *, but: str) -> None:
        """End all of a person's sessions but one."""
        await self._run(sql.end_others, user_id=user_id, id=but)

    async def end_all(self) -> int:
        """End all sessions of all people; return how many there were."""
        return len(await self._run(sql.end_all))

    async def prune(self, *, now: datetime, limit: int) -> int:
        """Delete some expired sessions; return how many."""
        return len(await self._run(sql.prune, now=to_us(now), limit=limit))

    async def prune_failures(self, *, before: datetime, limit: int) -> int:
        """Delete some counts of failures that began before then; return how many."""
        return len(
            await self._run(sql.prune_failures, before=to_us(before), limit=limit)
        )

    async def count_failure(
        self, who: bytes, *, now: datetime, within: timedelta
    ) -> tuple[int, datetime]:
        """Count a failure; return how many were recent, and the time of the first."""
        rows = await self._run(
            sql.count_failure,
            who=who,
            now=to_us(now),
            start=to_us(now - within),
            end=to_us(now + within),
        )
        return rows[0][0], from_us(rows[0][1])

    async def reset_failures(self, who: bytes) -> None:
        """Reset the failures counted under this key, after a success."""
        await self._run(sql.reset_failures, who=who)

    async def uncount(self, who: bytes) -> None:
        """Reduce the count of failures by an attempt that did not fail."""
        await self._run(sql.uncount, who=who)


def session_of(row: Row) -> Session:
    """Build the session from a row."""
    id_, user_id, created, last_seen, expires, is_complete, address, browser = row
    return Session(
        id=id_,
        user_id=user_id,
        created=from_us(created),
        last_seen=from_us(last_seen),
        expires=from_us(expires),
        is_complete=bool(is_complete),
        address=address,
        browser=browser,
    )
