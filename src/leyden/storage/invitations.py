"""Who was asked to join an organization, and has not answered yet."""

from datetime import datetime

from leyden.domain.accounts import Role
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound
from leyden.storage.statements import Row, Run
from leyden.storage.written import invitations as sql
from leyden.values import Struct


class Invitation(Struct, frozen=True, kw_only=True):
    """A place in an organization that is kept for somebody."""

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
        """Keep a new invitation under the digest of its link."""
        await self._run(
            sql.ADD,
            id=invitation.id,
            organization_id=invitation.organization_id,
            email=invitation.email,
            role=invitation.role,
            digest=digest,
            created=to_us(invitation.created),
            expires=to_us(invitation.expires),
            ended=None,
        )

    async def find(self, digest: bytes, *, now: datetime) -> Invitation | None:
        """Give the open invitation with this digest."""
        rows = await self._run(sql.FIND, digest=digest, now=to_us(now))
        return _invitation(rows[0]) if rows else None

    async def list_(self, organization_id: str, *, now: datetime) -> list[Invitation]:
        """Give an organization's open invitations, oldest first."""
        rows = await self._run(
            sql.LIST, organization_id=organization_id, now=to_us(now)
        )
        return [_invitation(row) for row in rows]

    async def end(
        self, organization_id: str, invitation_id: str, *, now: datetime
    ) -> None:
        """Let nobody use it any more; NotFound when it was used or withdrawn."""
        if not await self._run(
            sql.END, of=organization_id, invitation_id=invitation_id, now=to_us(now)
        ):
            raise NotFound

    async def forget_ended(self, organization_id: str, *, now: datetime) -> None:
        """Forget those that nobody can use any more: the audit has them all."""
        await self._run(sql.FORGET_ENDED, of=organization_id, now=to_us(now))

    async def end_for(self, organization_id: str, email: str, *, now: datetime) -> None:
        """Let nobody use any that was meant for this address."""
        await self._run(sql.END_FOR, of=organization_id, whose=email, now=to_us(now))


def _invitation(row: Row) -> Invitation:
    id_, organization_id, email, role, created, expires, _ = row
    return Invitation(
        id=id_,
        organization_id=organization_id,
        email=email,
        role=Role(role),
        created=from_us(created),
        expires=from_us(expires),
    )
