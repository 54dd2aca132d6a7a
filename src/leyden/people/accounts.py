"""Organizations and people.

Operators create them; everyone uses them.
"""

from leyden.base import rights
from leyden.base.platform import Platform
from leyden.base.rules.accounts import (
    Membership,
    Organization,
    Person,
    Role,
    check_email,
    check_name,
    new_id,
)
from leyden.errors import Conflict, NotFound
from leyden.people import notices, passwords, people_events


async def create_organization(
    platform: Platform, name: str, *, actor: str
) -> Organization:
    """Create an organization; raise Taken if the name is in use."""
    organization = Organization(
        id=new_id(),
        name=check_name(name, what="name"),
        created=platform.clock(),
    )
    async with platform.database.transaction() as tx:
        await rights.check_operator(tx, actor)
        await tx.accounts.add(organization)
        await tx.audit.add(
            at=organization.created,
            actor=actor,
            action="organization created",
            subject=organization.id,
            organization_id=organization.id,
            name=organization.name,
        )
    return organization


async def create_user(
    platform: Platform,
    email: str,
    *,
    password: str | None,
    organization_id: str,
    role: Role,
    actor: str,
) -> Person:
    """Create a person in an organization; raise Taken if the email exists."""
    now = platform.clock()
    person = Person(id=new_id(), email=check_email(email), created=now)
    digest = await passwords.digest(password) if password is not None else None
    async with platform.database.transaction() as tx:
        await tx.accounts.get(organization_id)
        await tx.accounts.add_person(person, password=digest)
        await tx.accounts.join(
            Membership(
                organization_id=organization_id,
                user_id=person.id,
                role=role,
                created=now,
            )
        )
        tx.events.add(
            people_events.of_new_member(organization_id, person.id, role), at=now
        )
        await tx.audit.add(
            at=now,
            actor=actor,
            action="user created",
            subject=person.id,
            organization_id=organization_id,
            role=role,
        )
    return person


async def readmit(
    platform: Platform,
    email: str,
    *,
    password: str,
    keep_authenticator: bool,
    actor: str,
    not_operators: bool = False,
) -> Person:
    """Set a person's new password, and sign them out everywhere.

    Also remove their authenticator and passkeys, unless `keep_authenticator`. With
    `not_operators`, raise Conflict if the person is one.
    """
    person = await get_person(platform, email)
    digest = await passwords.digest(password)
    async with platform.database.transaction() as tx:
        await tx.people.lock(person.id)
        if not_operators and await tx.people.is_operator(person.id):
            raise Conflict(
                f"{person.email} is an operator: use `leyden users reset-password` on "
                "the machine"
            )
        await tx.accounts.set_password(person.id, digest)
        await tx.email_links.end_all(person.id)
        await tx.sessions.end_others(person.id, but="")
        if not keep_authenticator:
            await tx.second_factors.remove_all(person.id)
        await tx.audit.add(
            at=platform.clock(),
            actor=actor,
            action="user readmitted",
            subject=person.id,
            keep_authenticator=keep_authenticator,
        )
        await notices.tell(
            platform, tx, "password_changed", to=person.email, now=platform.clock()
        )
    return person


async def set_operator(
    platform: Platform, email: str, *, operator: bool, actor: str
) -> Person:
    """Grant or revoke a person's operator role; repeating changes nothing."""
    person = await get_person(platform, email)
    now = platform.clock()
    async with platform.database.transaction() as tx:
        await tx.people.lock(person.id)  # what they do on its way comes before
        if operator:
            await tx.people.make_operator(person.id, now=now)
        else:
            await tx.people.unmake_operator(person.id)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="operator made" if operator else "operator unmade",
            subject=person.id,
        )
    return person


async def sign_out(platform: Platform, email: str, *, actor: str) -> Person:
    """End all of a person's sessions; nothing else changes."""
    person = await get_person(platform, email)
    async with platform.database.transaction() as tx:
        await tx.people.lock(person.id)  # a sign-in on its way comes before, and ends
        await tx.sessions.end_others(person.id, but="")
        await tx.audit.add(
            at=platform.clock(),
            actor=actor,
            action="user signed out",
            subject=person.id,
        )
    return person


async def get_person(platform: Platform, email: str) -> Person:
    """Return the person with this email, or raise NotFound with a hint."""
    found = await platform.database.reader.accounts.find_person(check_email(email))
    if found is None:
        raise NotFound(f"no user {email}; see `leyden users list`")
    return found
