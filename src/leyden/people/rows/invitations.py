"""Open invitations to organizations."""

from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.accounts import Role
from leyden.base.rules.times import from_us, to_us
from leyden.errors import NotFound
from leyden.values import Struct

sql = SqlFile(__file__)


class Invitation(Struct, frozen=True, kw_only=True):
    """An invitation to join an organization."""

    id: str
    organization_id: str
    email: str
    role: Role
    created: datetime
    expires: datetime


class Invitations:
    """The rows of invitation."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, invitation: Invitation, *, digest: bytes) -> None:
        """Store a new invitation under the digest of its link."""
        await self._run(
            sql.add,
            id=invitation.id,
            organization_id=invitation.organization_id,
            email=invitation.email,
            role=invitation.role,
            digest=digest,
            created=to_us(invitation.created),
            expires=to_us(invitation.expires),
        )

    async def find(self, digest: bytes, *, now: datetime) -> Invitation | None:
        """Return the open invitation with this digest, if any."""
        rows = await self._run(sql.find, digest=digest, now=to_us(now))
        return invitation_of(rows[0]) if rows else None

    async def list_(self, organization_id: str, *, now: datetime) -> list[Invitation]:
        """Return an organization's open invitations, oldest first."""
        rows = await self._run(
            sql.list, organization_id=organization_id, now=to_us(now)
        )
        return [invitation_of(row) for row in rows]

    async def end(
        self, organization_id: str, invitation_id: str, *, now: datetime
    ) -> None:
        """End an invitation; raise NotFound if it was used or revoked."""
        if not await self._run(
            sql.end, organization_id=organization_id, id=invitation_id, now=to_us(now)
        ):
            raise NotFound

    async def delete_ended(self, organization_id: str, *, now: datetime) -> None:
        """Delete invitations that have ended; the audit log has them all."""
        await self._run(
            sql.delete_ended, organization_id=organization_id, now=to_us(now)
        )

    async def end_for(self, organization_id: str, email: str, *, now: datetime) -> None:
        """End all invitations for this email."""
        await self._run(
            sql.end_for, organization_id=organization_id, email=email, now=to_us(now)
        )


def invitation_of(row: Row) -> Invitation:
    """Build the invitation from a row."""
    id_, organization_id, email, role, created, expires = row
    return Invitation(
        id=id_,
        organization_id=organization_id,
        email=email,
        role=Role(role),
        created=from_us(created),
        expires=from_us(expires),
    )
