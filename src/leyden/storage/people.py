"""People as they sign in: their passwords, what they belong to, who is an operator."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, delete, exists, func, select
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.domain.accounts import Organization, Person, Role
from leyden.domain.sign_in import Belonging
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound
from leyden.storage.statements import Row, Run
from leyden.storage.tables import memberships, organizations, users
from leyden.storage.tables_people import operators

_person = (users.c.id, users.c.email, users.c.created)
_GET = select(*_person).where(users.c.id == bindparam("user_id"))
_LOCK = _GET.with_for_update()
_PASSWORD = select(*_person, users.c.password).where(
    users.c.email == bindparam("email")
)
_BELONGS = (
    select(
        organizations.c.id,
        organizations.c.name,
        organizations.c.created,
        memberships.c.role,
    )
    .join_from(memberships, organizations)
    .where(memberships.c.user_id == bindparam("user_id"))
    .order_by(memberships.c.created, organizations.c.id)
)
_MEMBERS = (
    select(*_person, memberships.c.role, memberships.c.created)
    .join_from(memberships, users)
    .where(memberships.c.organization_id == bindparam("organization_id"))
    .order_by(memberships.c.created, users.c.id)
)
_COUNT_OWNERS = select(func.count()).where(
    memberships.c.organization_id == bindparam("organization_id"),
    memberships.c.role == Role.OWNER.value,
)
_LEAVE = (
    delete(memberships)
    .where(
        memberships.c.organization_id == bindparam("organization_id"),
        memberships.c.user_id == bindparam("user_id"),
    )
    .returning(memberships.c.user_id)
)
_IS_OPERATOR = select(exists().where(operators.c.user_id == bindparam("user_id")))
_MAKE_OPERATOR = insert_once(operators).on_conflict_do_nothing()
_UNMAKE_OPERATOR = delete(operators).where(operators.c.user_id == bindparam("user_id"))


@dataclass(frozen=True, kw_only=True)
class Member:
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
        rows = await self._run(_GET, user_id=user_id)
        if not rows:
            raise NotFound
        return _person_from(rows[0])

    async def lock(self, user_id: str) -> None:
        """Let nobody else change how the person signs in until the commit."""
        if not await self._run(_LOCK, user_id=user_id):
            raise NotFound

    async def password(self, email: str) -> tuple[Person, str | None] | None:
        """Give who has this address, with the digest of the password, if any."""
        for *person, digest in await self._run(_PASSWORD, email=email):
            return _person_from(tuple(person)), digest
        return None

    async def belongs_to(self, user_id: str) -> tuple[Belonging, ...]:
        """Give the organizations a person is in, the first joined first."""
        return tuple(
            Belonging(
                organization=Organization(id=id_, name=name, created=from_us(created)),
                role=Role(role),
            )
            for id_, name, created, role in await self._run(_BELONGS, user_id=user_id)
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
                _MEMBERS, organization_id=organization_id
            )
        ]

    async def count_owners(self, organization_id: str) -> int:
        """Count its owners."""
        rows = await self._run(_COUNT_OWNERS, organization_id=organization_id)
        return int(rows[0][0])

    async def leave(self, organization_id: str, user_id: str) -> None:
        """Take a person out of an organization; NotFound when they are not in it."""
        if not await self._run(
            _LEAVE, organization_id=organization_id, user_id=user_id
        ):
            raise NotFound

    async def is_operator(self, user_id: str) -> bool:
        """Tell whether the person runs this installation."""
        return bool((await self._run(_IS_OPERATOR, user_id=user_id))[0][0])

    async def make_operator(self, user_id: str, *, now: datetime) -> None:
        """Let the person run this installation; the second time changes nothing."""
        await self._run(_MAKE_OPERATOR, user_id=user_id, created=to_us(now))

    async def unmake_operator(self, user_id: str) -> None:
        """Let the person no longer; the second time changes nothing."""
        await self._run(_UNMAKE_OPERATOR, user_id=user_id)


def _person_from(row: Row) -> Person:
    id_, email, created = row
    return Person(id=id_, email=email, created=from_us(created))
