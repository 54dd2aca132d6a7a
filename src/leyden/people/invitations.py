"""Invitations to a team: sent by email or as a link, accepted once."""

import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from leyden.base import rights
from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Membership, Person, Role, check_email, new_id
from leyden.base.rules.sign_in import Right
from leyden.errors import Conflict, Forbidden, NotFound
from leyden.events import letters
from leyden.events.rules.letters import Letter
from leyden.people import (
    email_addresses,
    email_choices,
    notices,
    passwords,
    people_events,
    quotas,
)
from leyden.people.rows.invitations import Invitation
from leyden.people.rules.quotas import Quota
from leyden.people.team import INVITED, check_may_make, end_invitation

_LINK = "invitation"


class Invited(NamedTuple):
    """A new invitation, its link's word, shown once, and whether it is emailed."""

    invitation: Invitation
    word: str
    is_sent: bool


async def list_(
    platform: Platform, organization_id: str, *, now: datetime
) -> list[Invitation]:
    """Return the organization's open invitations."""
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
) -> Invited:
    """Create an invitation, and send it where emails are sent."""
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
        check_may_make(await rights.check(tx, actor, organization_id, Right.TEAM), role)
        if any(
            each.person.email == invitation.email
            for each in await tx.people.members(organization_id)
        ):
            raise Conflict(
                f"{invitation.email} is already a member of this organization"
            )
        limits = quotas.limits(platform.settings)
        used = len(await tx.invitations.list_(organization_id, now=now))
        await quotas.check(tx, limits, organization_id, Quota.INVITATIONS, used=used)
        await tx.invitations.delete_ended(organization_id, now=now)
        await tx.invitations.add(invitation, digest=_digest(platform, word))
        await tx.audit.add(
            at=now,
            actor=actor,
            action=INVITED,
            subject=invitation.id,
            organization_id=organization_id,
            email=invitation.email,
            role=role,
        )
        is_sent = await _send(platform, tx, invitation, word)
    return Invited(invitation, word, is_sent)


async def withdraw(
    platform: Platform,
    organization_id: str,
    invitation_id: str,
    *,
    actor: str,
    now: datetime,
) -> None:
    """Revoke an invitation; raise NotFound if it was used or revoked."""
    async with platform.database.transaction() as tx:
        own = await rights.check(tx, actor, organization_id, Right.TEAM)
        for each in await tx.invitations.list_(organization_id, now=now):
            if each.id == invitation_id:
                check_may_make(own, each.role)
        await end_invitation(tx, organization_id, invitation_id, actor=actor, now=now)


async def invited(platform: Platform, word: str, *, now: datetime) -> Invitation:
    """Return a link's invitation; raise NotFound if used, old or unknown."""
    digest = _digest(platform, word)
    found = await platform.database.reader.invitations.find(digest, now=now)
    if found is None:
        raise NotFound(
            "This invitation has expired, or was used or revoked. If you have already "
            "joined, sign in. Otherwise, ask your team for a new invitation."
        )
    return found


async def accept(
    platform: Platform, invitation: Invitation, person: Person, *, now: datetime
) -> None:
    """Accept an invitation; raise Forbidden unless it is for this person."""
    if person.email != invitation.email:
        raise Forbidden(
            f"This invitation is for {invitation.email}, but you are signed in as "
            f"{person.email}."
        )
    async with platform.database.transaction() as tx:
        await _join(platform, tx, invitation, person, now=now)


async def enrol(
    platform: Platform,
    invitation: Invitation,
    password: str,
    *,
    address: str = "",
    now: datetime,
) -> Person:
    """Create the invited person, and add the person to the organization.

    Raise Taken if the email is in use already: its owner signs in instead.
    """
    digest = await passwords.digest(password, address=address)
    person = Person(id=new_id(), email=invitation.email, created=now)
    async with platform.database.transaction() as tx:
        await tx.accounts.add_person(person, password=digest)
        await _join(platform, tx, invitation, person, now=now)
    return person


async def _send(
    platform: Platform, tx: Stores, invitation: Invitation, word: str
) -> bool:
    """Queue an invitation as an email; return whether it will be sent."""
    if not notices.is_on(platform):
        return False
    organization = await tx.accounts.get(invitation.organization_id)
    facts = {
        "word": word,
        "organization": organization.name,
        "role": invitation.role,
        "until": f"{invitation.expires:%Y-%m-%d}",
    }
    return await letters.queue(
        tx,
        platform.sealer,
        Letter(kind="invitation", facts=facts),
        to=invitation.email,
        organization_id=organization.id,
        lives=invitation.expires - invitation.created,
        now=invitation.created,
    )


async def _join(
    platform: Platform,
    tx: Stores,
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
        raise Conflict("you are already a member of this organization")
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
    tx.events.add(people_events.of_new_member(of, person.id, invitation.role), at=now)
    await tx.audit.add(
        at=now,
        actor=f"user:{person.id}",
        action="member joined",
        subject=person.id,
        organization_id=invitation.organization_id,
        role=invitation.role,
    )
    if await tx.email_links.confirmed(person.id) is not None:
        await email_choices.subscribe(
            platform, tx, person.id, of, invitation.role, now=now
        )
    elif notices.is_on(platform):
        # The link may have come to them by other ways than to this address.
        await email_addresses.send_link(
            platform, tx, person.id, to=person.email, now=now
        )


def _digest(platform: Platform, word: str) -> bytes:
    return platform.sealer.digest(word.encode(), purpose=_LINK)
