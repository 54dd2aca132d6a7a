"""Sessions, and how often somebody got a password wrong."""

from datetime import datetime

from leyden.domain.sign_in import Session
from leyden.domain.times import from_us, to_us
from leyden.storage.statements import Row, Run
from leyden.storage.written import sessions as sql

KEPT = 50  # of one person


class Sessions:
    """The rows of session and sign_in_failure."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, session: Session, *, digest: bytes) -> None:
        """Keep a new session under the digest of its cookie."""
        await self._run(
            sql.ADD,
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

    async def bound(self, user_id: str) -> None:
        """End all of a person's sessions but the latest used ones."""
        await self._run(sql.BOUND, whose=user_id, kept=KEPT)

    async def find(self, digest: bytes) -> Session | None:
        """Give the session with this digest, however old it is."""
        rows = await self._run(sql.FIND, digest=digest)
        return _session(rows[0]) if rows else None

    async def list_(self, user_id: str) -> list[Session]:
        """Give a person's sessions, the latest used first."""
        return [_session(row) for row in await self._run(sql.LIST, user_id=user_id)]

    async def seen(self, session_id: str, *, now: datetime) -> None:
        """Note that it is in use."""
        await self._run(sql.SEEN, session_id=session_id, now=to_us(now))

    async def end(self, user_id: str, session_id: str) -> bool:
        """End one of a person's sessions; False when it had ended before."""
        return bool(await self._run(sql.END, user_id=user_id, session_id=session_id))

    async def end_others(self, user_id: str, *, but: str) -> None:
        """End all of a person's sessions but one."""
        await self._run(sql.END_OTHERS, user_id=user_id, session_id=but)

    async def forget(self, *, now: datetime, start: datetime) -> None:
        """Forget what has expired, and failures from before `start`."""
        await self._run(sql.FORGET, now=to_us(now))
        await self._run(sql.FORGET_FAILURES, start=to_us(start))

    async def failed(
        self, who: bytes, *, now: datetime, start: datetime
    ) -> tuple[int, datetime]:
        """Count one more; give how many since when. From `start` on they add up."""
        rows = await self._run(sql.FAILED, who=who, now=to_us(now), start=to_us(start))
        return rows[0][0], from_us(rows[0][1])

    async def forgive(self, who: bytes) -> None:
        """Forget that they got it wrong: they got it right."""
        await self._run(sql.FORGIVE, who=who)

    async def take_back(self, who: bytes, *, attempts: int) -> None:
        """Count so many less: they were none."""
        await self._run(sql.TAKE_BACK, whose=who, attempts=attempts)


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
