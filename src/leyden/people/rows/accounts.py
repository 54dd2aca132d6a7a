"""Organizations, people and memberships."""

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.accounts import Membership, Organization, Person
from leyden.base.rules.times import from_us, to_us
from leyden.errors import NotFound, Taken

sql = SqlFile(__file__)


class Accounts:
    """The rows of organization, person and membership."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def reach(self) -> None:
        """Check that the database responds; independent of its size."""
        await self._run(sql.reach)

    async def add(self, organization: Organization) -> None:
        """Store a new organization; raise Taken if the name is in use."""
        if not await self._run(
            sql.add_organization,
            id=organization.id,
            name=organization.name,
            created=to_us(organization.created),
        ):
            raise Taken(f"an organization named {organization.name!r} already exists")

    async def get(self, organization_id: str) -> Organization:
        """Return the organization, or raise NotFound."""
        rows = await self._run(sql.get_organization, id=organization_id)
        if not rows:
            raise NotFound
        return organization_of(rows[0])

    async def lock(self, organization_id: str) -> None:
        """Lock the organization until the transaction ends."""
        if not await self._run(sql.lock_organization, id=organization_id):
            raise NotFound

    async def list_(self) -> list[Organization]:
        """Return all organizations, oldest first."""
        return [organization_of(row) for row in await self._run(sql.list_organizations)]

    async def add_person(self, person: Person, *, password: str | None) -> None:
        """Store a new person with a password hash; raise Taken if known."""
        if not await self._run(
            sql.add_person,
            id=person.id,
            email=person.email,
            password=password,
            created=to_us(person.created),
        ):
            raise Taken(f"a user {person.email} already exists")

    async def find_person(self, email: str) -> Person | None:
        """Return the person with this email, if any."""
        rows = await self._run(sql.find_person, email=email)
        return person_of(rows[0]) if rows else None

    async def people(self) -> list[Person]:
        """Return all people, oldest first."""
        return [person_of(row) for row in await self._run(sql.list_people)]

    async def set_password(self, user_id: str, digest: str) -> None:
        """Store the hash of a new password."""
        if not await self._run(sql.set_password, id=user_id, password=digest):
            raise NotFound

    async def join(self, membership: Membership) -> None:
        """Add a person to an organization; if a member, change the role."""
        await self._run(
            sql.join,
            organization_id=membership.organization_id,
            user_id=membership.user_id,
            role=membership.role,
            created=to_us(membership.created),
        )


def organization_of(row: Row) -> Organization:
    """Build the organization from a row."""
    id_, name, created = row
    return Organization(id=id_, name=name, created=from_us(created))


def person_of(row: Row) -> Person:
    """Build the person from a row."""
    id_, email, created = row
    return Person(id=id_, email=email, created=from_us(created))
