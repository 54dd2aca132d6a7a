"""People as they sign in: their passwords, what they belong to, who is an operator."""

from datetime import datetime

from leyden.domain.accounts import Organization, Person, Role
from leyden.domain.sign_in import Belonging
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound
from leyden.storage.statements import Row, Run
from leyden.storage.written import people as sql
from leyden.values import Struct


class Member(Struct, frozen=True, kw_only=True):
    """Somebody in an organization, as the others see them."""

    person: Person
    role: Role
    since: datetime


class People:
    """The rows of person, membership and operator, looked at from a person's side."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def get(self, user_id: str) -> Person:
        """Give the person, or NotFound."""
        rows = await self._run(sql.GET, user_id=user_id)
        if not rows:
            raise NotFound
        return _person_from(rows[0])

    async def lock(self, user_id: str) -> None:
        """Let nobody else change how the person signs in until the commit."""
        if not await self._run(sql.LOCK, user_id=user_id):
            raise NotFound

    async def password(self, email: str) -> tuple[Person, str | None] | None:
        """Give who has this address, with the digest of the password, if any."""
        for *person, digest in await self._run(sql.PASSWORD, email=email):
            return _person_from(tuple(person)), digest
        return None

    async def belongs_to(self, user_id: str) -> tuple[Belonging, ...]:
        """Give the organizations a person is in, the first joined first."""
        return tuple(
            Belonging(
                organization=Organization(id=id_, name=name, created=from_us(created)),
                role=Role(role),
            )
            for id_, name, created, role in await self._run(
                sql.BELONGS, user_id=user_id
            )
        )

    async def members(self, organization_id: str) -> list[Member]:
        """Give who is in the organization, the first joined first."""
        return [
            Member(
                person=_person_from(tuple(person)),
                role=Role(role),
                since=from_us(since),
            )
            for *person, role, since in await self._run(
                sql.MEMBERS, organization_id=organization_id
            )
        ]

    async def role(self, organization_id: str, user_id: str) -> Role | None:
        """Return what a person is in an organization; None when not in it."""
        rows = await self._run(
            sql.ROLE, organization_id=organization_id, user_id=user_id
        )
        return Role(rows[0][0]) if rows else None

    async def count_owners(self, organization_id: str) -> int:
        """Count its owners."""
        rows = await self._run(sql.COUNT_OWNERS, organization_id=organization_id)
        return int(rows[0][0])

    async def leave(self, organization_id: str, user_id: str) -> None:
        """Take a person out of an organization; NotFound when they are not in it."""
        if not await self._run(
            sql.LEAVE, organization_id=organization_id, user_id=user_id
        ):
            raise NotFound

    async def is_operator(self, user_id: str) -> bool:
        """Tell whether the person runs this installation."""
        return bool((await self._run(sql.IS_OPERATOR, user_id=user_id))[0][0])

    async def make_operator(self, user_id: str, *, now: datetime) -> None:
        """Let the person run this installation; the second time changes nothing."""
        await self._run(sql.MAKE_OPERATOR, user_id=user_id, created=to_us(now))

    async def unmake_operator(self, user_id: str) -> None:
        """Let the person no longer; the second time changes nothing."""
        await self._run(sql.UNMAKE_OPERATOR, user_id=user_id)


def _person_from(row: Row) -> Person:
    id_, email, created = row
    return Person(id=id_, email=email, created=from_us(created))
