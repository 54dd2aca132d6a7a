"""Who is in an organization: roles, invitations, and the rule that an owner remains."""

import secrets
from datetime import datetime, timedelta

from leyden.domain.accounts import Membership, Person, Role, check_email, new_id
from leyden.domain.quotas import Quota
from leyden.domain.sign_in import Right
from leyden.errors import Conflict, Forbidden, Malformed, NotFound
from leyden.services import passwords, quotas, rights
from leyden.services.platform import Platform
from leyden.storage.invitations import Invitation
from leyden.storage.nouns import Nouns
from leyden.storage.people import Member

_LINK = "invitation"


async def members(platform: Platform, organization_id: str) -> list[Member]:
    """Give who is in the organization, the first joined first."""
    return await platform.database.reader.people.members(organization_id)


async def invitations(
    platform: Platform, organization_id: str, *, now: datetime
) -> list[Invitation]:
    """Give who was asked to join and has not answered yet."""
    reader = platform.database.reader
    return await reader.invitations.list_(organization_id, now=now)


async def invite(
    platform: Platform,
    organization_id: str,
    *,
    email: str,
    role: Role,
    actor: str,
    now: datetime,
) -> tuple[Invitation, str]:
    """Keep a place for somebody; give it with the word of its link, shown this once."""
    word = secrets.token_urlsafe(32)
    invitation = Invitation(
        id=new_id(),
        organization_id=organization_id,
        email=check_email(email),
        role=role,
        created=now,
        expires=now + timedelta(seconds=platform.settings.invitation_lives_s),
    )
    async with platform.database.transaction() as tx:
        _check_may_make(
            await rights.check(tx, actor, organization_id, Right.TEAM), role
        )
        if any(
            each.person.email == invitation.email
            for each in await tx.people.members(organization_id)
        ):
            raise Conflict(f"{invitation.email} is in this organization already")
        limits = quotas.limits(platform.settings)
        used = len(await tx.invitations.list_(organization_id, now=now))
        await quotas.check(tx, limits, organization_id, Quota.INVITATIONS, used=used)
        await tx.invitations.forget_ended(organization_id, now=now)
        await tx.invitations.add(invitation, digest=_digest(platform, word))
        await tx.audit.add(
            at=now,
            actor=actor,
            action="member invited",
            subject=invitation.id,
            organization_id=organization_id,
            email=invitation.email,
            role=role,
        )
    return invitation, word


async def withdraw(
    platform: Platform,
    organization_id: str,
    invitation_id: str,
    *,
    actor: str,
    now: datetime,
) -> None:
    """End an invitation; NotFound when it was used or withdrawn before."""
    async with platform.database.transaction() as tx:
        await rights.check(tx, actor, organization_id, Right.TEAM)
        await tx.invitations.end(organization_id, invitation_id, now=now)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="invitation withdrawn",
            subject=invitation_id,
            organization_id=organization_id,
        )


async def invited(platform: Platform, word: str, *, now: datetime) -> Invitation:
    """Give the invitation with this link; NotFound when it is used, old or none."""
    digest = _digest(platform, word)
    found = await platform.database.reader.invitations.find(digest, now=now)
    if found is None:
        raise NotFound
    return found


async def accept(
    platform: Platform, invitation: Invitation, person: Person, *, now: datetime
) -> None:
    """Join; only whom the invitation was for."""
    if person.email != invitation.email:
        raise Forbidden(
            f"This invitation is for {invitation.email}; you are {person.email}."
        )
    async with platform.database.transaction() as tx:
        await _join(platform, tx, invitation, person, now=now)


async def enrol(
    platform: Platform, invitation: Invitation, password: str, *, now: datetime
) -> Person:
    """Make the person that the invitation is for, and let them join.

    Taken when somebody has this address already: they sign in instead.
    """
    digest = await passwords.digest(password)
    person = Person(id=new_id(), email=invitation.email, created=now)
    async with platform.database.transaction() as tx:
        await tx.accounts.add_person(person, password=digest)
        await _join(platform, tx, invitation, person, now=now)
    return person


async def set_role(
    platform: Platform,
    organization_id: str,
    user_id: str,
    role: Role,
    *,
    actor: str,
    now: datetime,
) -> None:
    """Give somebody another role; an owner remains, and only owners make owners."""
    async with platform.database.transaction() as tx:
        own, member = await _changeable(tx, actor, organization_id, user_id)
        _check_may_make(own, role)
        if member.role is Role.OWNER and role is not Role.OWNER:
            await _check_owner_remains(tx, organization_id)
        await tx.accounts.join(
            Membership(
                organization_id=organization_id,
                user_id=user_id,
                role=role,
                created=member.since,
            )
        )
        await tx.audit.add(
            at=now,
            actor=actor,
            action="role changed",
            subject=user_id,
            organization_id=organization_id,
            role=role,
        )


async def remove(
    platform: Platform,
    organization_id: str,
    user_id: str,
    *,
    actor: str,
    now: datetime,
) -> None:
    """Take somebody out of the organization, at once; an owner remains."""
    async with platform.database.transaction() as tx:
        _, member = await _changeable(tx, actor, organization_id, user_id)
        if member.role is Role.OWNER:
            await _check_owner_remains(tx, organization_id)
        await tx.people.leave(organization_id, user_id)
        await tx.invitations.end_for(organization_id, member.person.email, now=now)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="member removed",
            subject=user_id,
            organization_id=organization_id,
        )


async def _changeable(
    tx: Nouns, actor: str, organization_id: str, user_id: str
) -> tuple[Role, Member]:
    """Return what the actor is, and whom they may change; two at once take turns."""
    own = await rights.check(tx, actor, organization_id, Right.TEAM)
    for member in await tx.people.members(organization_id):
        if member.person.id == user_id:
            _check_may_make(own, member.role)
            return own, member
    raise NotFound


def _check_may_make(own: Role, role: Role) -> None:
    if role is Role.OWNER and own is not Role.OWNER:
        raise Forbidden("Only an owner says who the owners are.")


async def _check_owner_remains(tx: Nouns, organization_id: str) -> None:
    if await tx.people.count_owners(organization_id) <= 1:
        raise Conflict("it is the last owner; make somebody else an owner first")


async def _join(
    platform: Platform,
    tx: Nouns,
    invitation: Invitation,
    person: Person,
    *,
    now: datetime,
) -> None:
    of = invitation.organization_id
    await tx.accounts.lock(of)
    await tx.invitations.end(of, invitation.id, now=now)
    if any(each.person.id == person.id for each in await tx.people.members(of)):
        # An older link must not bring a role back that was taken away.
        raise Conflict("you are in this organization already")
    limits, used = quotas.limits(platform.settings), await tx.quotas.members(of)
    await quotas.check(tx, limits, of, Quota.MEMBERS, used=used)
    await tx.invitations.end_for(of, invitation.email, now=now)
    await tx.accounts.join(
        Membership(
            organization_id=invitation.organization_id,
            user_id=person.id,
            role=invitation.role,
            created=now,
        )
    )
    await tx.audit.add(
        at=now,
        actor=f"user:{person.id}",
        action="member joined",
        subject=person.id,
        organization_id=invitation.organization_id,
        role=invitation.role,
    )


def parse_role(word: str) -> Role:
    """Read a role; Malformed when it is none."""
    try:
        return Role(word)
    except ValueError:
        raise Malformed(f"role: must be one of {', '.join(Role)}") from None


def _digest(platform: Platform, word: str) -> bytes:
    return platform.sealer.digest(word.encode(), purpose=_LINK)
