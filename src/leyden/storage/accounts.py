"""Organizations, people, and who is in which."""

from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.domain.accounts import Membership, Organization, Person, Role
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound, Taken
from leyden.storage.statements import Row, Run
from leyden.storage.tables import memberships, organizations, users

_ADD_ORGANIZATION = (
    insert_once(organizations).on_conflict_do_nothing().returning(organizations.c.id)
)
_GET_ORGANIZATION = select(organizations).where(organizations.c.id == bindparam("id"))
_LOCK_ORGANIZATION = (
    select(organizations.c.id)
    .where(organizations.c.id == bindparam("id"))
    .with_for_update()
)
_REACH = select(organizations.c.id).limit(1)
_LIST_ORGANIZATIONS = select(organizations).order_by(organizations.c.created)

_person = (users.c.id, users.c.email, users.c.created)
_ADD_PERSON = insert_once(users).on_conflict_do_nothing().returning(users.c.id)
_FIND_PERSON = select(*_person).where(users.c.email == bindparam("email"))
_LIST_PEOPLE = select(*_person).order_by(users.c.created)
_SET_PASSWORD = (
    update(users)
    .where(users.c.id == bindparam("user_id"))
    .values(password=bindparam("password"))
    .returning(users.c.id)
)
_JOIN = insert_once(memberships)
_JOIN = _JOIN.on_conflict_do_update(
    index_elements=["organization_id", "user_id"],
    set_={"role": _JOIN.excluded.role},
)
_LIST_MEMBERS = (
    select(memberships)
    .where(memberships.c.organization_id == bindparam("organization_id"))
    .order_by(memberships.c.created)
)


class Accounts:
    """The rows of organization, person and membership."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def reach(self) -> None:
        """Return if the database answers, however much it holds."""
        await self._run(_REACH)

    async def add(self, organization: Organization) -> None:
        """Keep a new organization; Taken when the name is in use."""
        if not await self._run(
            _ADD_ORGANIZATION,
            id=organization.id,
            name=organization.name,
            created=to_us(organization.created),
        ):
            raise Taken(f"there is an organization named {organization.name!r} already")

    async def get(self, organization_id: str) -> Organization:
        """Give the organization, or NotFound."""
        rows = await self._run(_GET_ORGANIZATION, id=organization_id)
        if not rows:
            raise NotFound
        return _organization(rows[0])

    async def lock(self, organization_id: str) -> None:
        """Let nobody else decide about this organization until the commit."""
        if not await self._run(_LOCK_ORGANIZATION, id=organization_id):
            raise NotFound

    async def list_(self) -> list[Organization]:
        """Give all organizations, oldest first."""
        return [_organization(row) for row in await self._run(_LIST_ORGANIZATIONS)]

    async def add_person(self, person: Person, *, password: str | None) -> None:
        """Keep a new person with the digest of a password; Taken when known."""
        if not await self._run(
            _ADD_PERSON,
            id=person.id,
            email=person.email,
            password=password,
            created=to_us(person.created),
        ):
            raise Taken(f"there is a user {person.email} already")

    async def find_person(self, email: str) -> Person | None:
        """Give the person with this address, if there is one."""
        rows = await self._run(_FIND_PERSON, email=email)
        return _person_from(rows[0]) if rows else None

    async def people(self) -> list[Person]:
        """Give everyone, oldest first."""
        return [_person_from(row) for row in await self._run(_LIST_PEOPLE)]

    async def set_password(self, user_id: str, digest: str) -> None:
        """Keep the digest of a new password."""
        if not await self._run(_SET_PASSWORD, user_id=user_id, password=digest):
            raise NotFound

    async def join(self, membership: Membership) -> None:
        """Put a person into an organization; the second time, change the role."""
        await self._run(
            _JOIN,
            organization_id=membership.organization_id,
            user_id=membership.user_id,
            role=membership.role,
            created=to_us(membership.created),
        )

    async def members(self, organization_id: str) -> list[Membership]:
        """Give who is in the organization."""
        return [
            Membership(
                organization_id=organization_id,
                user_id=user_id,
                role=Role(role),
                created=from_us(created),
            )
            for organization_id, user_id, role, created in await self._run(
                _LIST_MEMBERS, organization_id=organization_id
            )
        ]


def _organization(row: Row) -> Organization:
    id_, name, created = row
    return Organization(id=id_, name=name, created=from_us(created))


def _person_from(row: Row) -> Person:
    id_, email, created = row
    return Person(id=id_, email=email, created=from_us(created))
