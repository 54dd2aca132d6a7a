"""Organizations, people, and who is in which."""

from leyden.domain.accounts import Membership, Organization, Person, Role
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound, Taken
from leyden.storage.statements import Row, Run
from leyden.storage.written import accounts as sql


class Accounts:
    """The rows of organization, person and membership."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def reach(self) -> None:
        """Return if the database answers, however much it holds."""
        await self._run(sql.REACH)

    async def add(self, organization: Organization) -> None:
        """Keep a new organization; Taken when the name is in use."""
        if not await self._run(
            sql.ADD_ORGANIZATION,
            id=organization.id,
            name=organization.name,
            created=to_us(organization.created),
        ):
            raise Taken(f"there is an organization named {organization.name!r} already")

    async def get(self, organization_id: str) -> Organization:
        """Give the organization, or NotFound."""
        rows = await self._run(sql.GET_ORGANIZATION, id=organization_id)
        if not rows:
            raise NotFound
        return _organization(rows[0])

    async def lock(self, organization_id: str) -> None:
        """Let nobody else decide about this organization until the commit."""
        if not await self._run(sql.LOCK_ORGANIZATION, id=organization_id):
            raise NotFound

    async def list_(self) -> list[Organization]:
        """Give all organizations, oldest first."""
        return [_organization(row) for row in await self._run(sql.LIST_ORGANIZATIONS)]

    async def add_person(self, person: Person, *, password: str | None) -> None:
        """Keep a new person with the digest of a password; Taken when known."""
        if not await self._run(
            sql.ADD_PERSON,
            id=person.id,
            email=person.email,
            password=password,
            created=to_us(person.created),
        ):
            raise Taken(f"there is a user {person.email} already")

    async def find_person(self, email: str) -> Person | None:
        """Give the person with this address, if there is one."""
        rows = await self._run(sql.FIND_PERSON, email=email)
        return _person_from(rows[0]) if rows else None

    async def people(self) -> list[Person]:
        """Give everyone, oldest first."""
        return [_person_from(row) for row in await self._run(sql.LIST_PEOPLE)]

    async def set_password(self, user_id: str, digest: str) -> None:
        """Keep the digest of a new password."""
        if not await self._run(sql.SET_PASSWORD, user_id=user_id, password=digest):
            raise NotFound

    async def join(self, membership: Membership) -> None:
        """Put a person into an organization; the second time, change the role."""
        await self._run(
            sql.JOIN,
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
                sql.LIST_MEMBERS, organization_id=organization_id
            )
        ]


def _organization(row: Row) -> Organization:
    id_, name, created = row
    return Organization(id=id_, name=name, created=from_us(created))


def _person_from(row: Row) -> Person:
    id_, email, created = row
    return Person(id=id_, email=email, created=from_us(created))
