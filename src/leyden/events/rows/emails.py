"""Emails that wait for the mail server."""

from datetime import datetime
from typing import Final

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.values import Struct, hiding

sql = SqlFile(__file__)

EMAILS: Final = "emails"  # a kind of task; its key is the id


class WaitingEmail(Struct, frozen=True, kw_only=True):
    """An email that the mail server has not accepted yet."""

    id: str
    organization_id: str  # empty: not about an organization
    address: str
    sealed: bytes
    created: datetime
    expires: datetime
    attempts: int  # that failed

    __repr__ = hiding("sealed")


def email_purpose(email_id: str) -> str:
    """Return the purpose that an email's content is sealed for."""
    return f"email of {email_id}"


class Emails:
    """The rows of email."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, waiting: WaitingEmail) -> None:
        """Store a waiting email."""
        await self._run(
            sql.add,
            id=waiting.id,
            organization_id=waiting.organization_id,
            address=waiting.address,
            sealed=waiting.sealed,
            created=to_us(waiting.created),
            expires=to_us(waiting.expires),
            attempts=waiting.attempts,
        )

    async def find(self, email_id: str) -> WaitingEmail | None:
        """Return an email, if it is still waiting."""
        for row in await self._run(sql.get, id=email_id):
            id_, organization_id, address, sealed, created, expires, attempts = row
            return WaitingEmail(
                id=id_,
                organization_id=organization_id,
                address=address,
                sealed=sealed,
                created=from_us(created),
                expires=from_us(expires),
                attempts=attempts,
            )
        return None

    async def set_attempts(self, email_id: str, attempts: int) -> None:
        """Store how many attempts failed."""
        await self._run(sql.set_attempts, id=email_id, attempts=attempts)

    async def failing(self, *, attempts: int) -> int:
        """Count the emails that the mail server has rejected this many times."""
        rows = await self._run(sql.failing, attempts=attempts)
        return int(rows[0][0])

    async def delete(self, email_id: str) -> None:
        """Delete an email that was accepted or given up on."""
        await self._run(sql.delete, id=email_id)
