"""Members of an organization: roles and invitations; an owner remains."""

from datetime import datetime
from typing import Final

from leyden.base import rights
from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Membership, Role
from leyden.base.rules.sign_in import RIGHTS, Right
from leyden.errors import Conflict, Forbidden, Malformed, NotFound
from leyden.people import email_choices, people_events
from leyden.people.rows.people import Member

INVITED: Final = "member invited"  # in the audit log


async def members(platform: Platform, organization_id: str) -> list[Member]:
    """Return the organization's members, in the order of joining."""
    return await platform.database.reader.people.members(organization_id)


async def set_role(
    platform: Platform,
    organization_id: str,
    user_id: str,
    role: Role,
    *,
    actor: str,
    now: datetime,
) -> None:
    """Change a member's role; an owner remains, and only owners make owners."""
    async with platform.database.transaction() as tx:
        own, member = await _changeable(tx, actor, organization_id, user_id)
        check_may_make(own, role)
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
        if role is not member.role:
            tx.events.add(
                people_events.of_new_role(organization_id, member, role), at=now
            )
        await _end_sent(tx, organization_id, user_id, role, actor=actor, now=now)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="role changed",
            subject=user_id,
            organization_id=organization_id,
            changes={"role": (member.role, role)},
        )


async def remove(
    platform: Platform,
    organization_id: str,
    user_id: str,
    *,
    actor: str,
    now: datetime,
) -> None:
    """Remove a member from the organization, at once; an owner remains.

    Invitations for them end, and those that they sent.
    """
    async with platform.database.transaction() as tx:
        _, member = await _changeable(tx, actor, organization_id, user_id)
        if member.role is Role.OWNER:
            await _check_owner_remains(tx, organization_id)
        await tx.people.leave(organization_id, user_id)
        await email_choices.leave(tx, user_id, organization_id)
        tx.events.add(people_events.of_former_member(organization_id, member), at=now)
        await tx.invitations.end_for(organization_id, member.person.email, now=now)
        await _end_sent(tx, organization_id, user_id, None, actor=actor, now=now)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="member removed",
            subject=user_id,
            organization_id=organization_id,
            role=member.role,
        )


async def _end_sent(
    tx: Stores,
    organization_id: str,
    user_id: str,
    role: Role | None,
    *,
    actor: str,
    now: datetime,
) -> None:
    """End the open invitations that a person sent, unless this role may send them.

    They have seen the links, and could come back by one.
    """
    for each in await tx.invitations.list_(organization_id, now=now):
        sender = await tx.audit.actor(
            organization_id, each.id, INVITED, at=each.created
        )
        if sender == f"user:{user_id}" and not _may_invite(role, each.role):
            await end_invitation(tx, organization_id, each.id, actor=actor, now=now)


def _may_invite(own: Role | None, role: Role) -> bool:
    return own is not None and Right.TEAM in RIGHTS[own] and _may_make(own, role)


async def end_invitation(
    tx: Stores, organization_id: str, invitation_id: str, *, actor: str, now: datetime
) -> None:
    """End an open invitation, and log who did; raise NotFound if it has ended."""
    await tx.invitations.end(organization_id, invitation_id, now=now)
    await tx.audit.add(
        at=now,
        actor=actor,
        action="invitation withdrawn",
        subject=invitation_id,
        organization_id=organization_id,
    )


async def _changeable(
    tx: Stores, actor: str, organization_id: str, user_id: str
) -> tuple[Role, Member]:
    """Return the actor's role, and the member; raise if not changeable.

    The organization is locked: changes are made one after the other.
    """
    own = await rights.check(tx, actor, organization_id, Right.TEAM)
    for member in await tx.people.members(organization_id):
        if member.person.id == user_id:
            check_may_make(own, member.role)
            return own, member
    raise NotFound


def check_may_make(own: Role, role: Role) -> None:
    """Raise Forbidden unless who has the one role may give, or take, the other."""
    if not _may_make(own, role):
        raise Forbidden("Only an owner can add, change or remove owners.")


def _may_make(own: Role, role: Role) -> bool:
    return role is not Role.OWNER or own is Role.OWNER


async def _check_owner_remains(tx: Stores, organization_id: str) -> None:
    if await tx.people.count_owners(organization_id) <= 1:
        raise Conflict(
            "role: this is the last owner; make another member an owner first"
        )


def parse_role(word: str) -> Role:
    """Parse a role; raise Malformed if it is unknown."""
    try:
        return Role(word)
    except ValueError:
        raise Malformed(f"role: must be one of {', '.join(Role)}") from None
