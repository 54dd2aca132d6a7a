"""People and signing in: passwords, memberships, operators."""

from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.accounts import Organization, Person, Role
from leyden.base.rules.sign_in import UserMembership
from leyden.base.rules.times import from_us, to_us
from leyden.errors import NotFound
from leyden.people.rows.accounts import person_of
from leyden.values import Struct, replace

sql = SqlFile(__file__)


class Member(Struct, frozen=True, kw_only=True):
    """A member of an organization, as shown to the other members."""

    person: Person
    role: Role
    since: datetime


class People:
    """The rows of person, membership and operator, by person."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def get(self, user_id: str) -> Person:
        """Return the person, or raise NotFound."""
        rows = await self._run(sql.get, id=user_id)
        for *person, theme, time_zone in rows:
            found = person_of(tuple(person))
            return replace(found, theme=theme, time_zone=time_zone)
        raise NotFound

    async def set_display(self, user_id: str, *, theme: str, time_zone: str) -> None:
        """Store how a person wants to see the dashboard."""
        await self._run(sql.set_display, id=user_id, theme=theme, time_zone=time_zone)

    async def lock(self, user_id: str) -> None:
        """Lock the person's sign-in data until the transaction ends."""
        if not await self._run(sql.lock, id=user_id):
            raise NotFound

    async def password(self, email: str) -> tuple[Person, str | None] | None:
        """Return the person with this email and the password hash, if any."""
        for *person, digest in await self._run(sql.password, email=email):
            return person_of(tuple(person)), digest
        return None

    async def memberships(self, user_id: str) -> tuple[UserMembership, ...]:
        """Return a person's organizations, in the order of joining."""
        return tuple(
            UserMembership(
                organization=Organization(id=id_, name=name, created=from_us(created)),
                role=Role(role),
            )
            for id_, name, created, role in await self._run(
                sql.memberships, user_id=user_id
            )
        )

    async def members(self, organization_id: str) -> list[Member]:
        """Return an organization's members, in the order of joining."""
        return [
            Member(
                person=person_of(tuple(person)),
                role=Role(role),
                since=from_us(since),
            )
            for *person, role, since in await self._run(
                sql.members, organization_id=organization_id
            )
        ]

    async def role(self, organization_id: str, user_id: str) -> Role | None:
        """Return a person's role in an organization; None if not a member."""
        rows = await self._run(
            sql.role, organization_id=organization_id, user_id=user_id
        )
        return Role(rows[0][0]) if rows else None

    async def count_owners(self, organization_id: str) -> int:
        """Count the organization's owners."""
        rows = await self._run(sql.count_owners, organization_id=organization_id)
        return int(rows[0][0])

    async def leave(self, organization_id: str, user_id: str) -> None:
        """Remove a person from an organization; raise NotFound if not a member."""
        if not await self._run(
            sql.leave, organization_id=organization_id, user_id=user_id
        ):
            raise NotFound

    async def is_operator(self, user_id: str) -> bool:
        """Return whether the person is an operator."""
        return bool(await self._run(sql.is_operator, user_id=user_id))

    async def make_operator(self, user_id: str, *, now: datetime) -> None:
        """Make the person an operator; no-op if already one."""
        await self._run(sql.make_operator, user_id=user_id, created=to_us(now))

    async def unmake_operator(self, user_id: str) -> None:
        """Revoke the person's operator status; no-op if not an operator."""
        await self._run(sql.unmake_operator, user_id=user_id)

    async def operators(self) -> list[Person]:
        """Return the operators, in the order of becoming one."""
        return [person_of(row) for row in await self._run(sql.operators)]
