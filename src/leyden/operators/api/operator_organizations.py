"""The operator API's endpoints of organizations, their members and their keys."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from leyden.base.http.operations import Request
from leyden.base.rules.accounts import ApiKey, Organization, Role
from leyden.base.rules.times import to_iso
from leyden.base.settings import own_names
from leyden.operators import oversight
from leyden.people import accounts, api_keys, invitations, quotas, team
from leyden.people.rows.invitations import Invitation
from leyden.people.rows.people import Member
from leyden.schemas.operator import (
    InvitationItem,
    KeyItem,
    KeysAnswer,
    MemberItem,
    MemberRole,
    MembersAnswer,
    NewInvitation,
    NewInvitationAnswer,
    NewKey,
    NewKeyAnswer,
    NewMember,
    NewOrganization,
    OrganizationAnswer,
    OrganizationItem,
    OrganizationsAnswer,
    QuotaChanges,
    QuotaLimits,
    QuotaLimitsAnswer,
    Readmission,
    Removed,
    RoleChange,
    SessionItem,
    SessionsAnswer,
    UserItem,
    UsersAnswer,
)

_ROLES: Final[Mapping[Role, MemberRole]] = {
    Role.OWNER: "owner",
    Role.ADMIN: "admin",
    Role.DEVELOPER: "developer",
    Role.BILLING: "billing",
    Role.VIEWER: "viewer",
}


async def list_(request: Request) -> OrganizationsAnswer:
    """List organizations."""
    found = await request.platform.database.reader.accounts.list_()
    return OrganizationsAnswer(organizations=[_item(each) for each in found])


async def create(request: Request, body: NewOrganization) -> OrganizationItem:
    """Create an organization."""
    made = await accounts.create_organization(
        request.platform, body.name, actor=request.principal.actor
    )
    return _item(made)


async def get(request: Request) -> OrganizationAnswer:
    """Return an organization with its money."""
    return await shown(request)


async def shown(request: Request) -> OrganizationAnswer:
    """Return the organization of the path with its money, as it is now."""
    found = await oversight.account(request.platform, request.path["organization_id"])
    return OrganizationAnswer(
        organization_id=found.organization.id,
        name=found.organization.name,
        created=to_iso(found.organization.created),
        credit=found.balance.credit,
        owed=found.balance.owed,
        most_owed=found.most_owed,
    )


async def list_quotas(request: Request) -> QuotaLimitsAnswer:
    """Return an organization's quotas."""
    found = await quotas.usage(
        request.platform.database,
        quotas.limits(request.platform.settings),
        await _existing(request),
        now=request.now,
    )
    return QuotaLimitsAnswer(
        quotas={
            str(name): QuotaLimits(
                used=each.used, limit=each.limit, default=each.default
            )
            for name, each in found.items()
        }
    )


async def change_quotas(request: Request, body: QuotaChanges) -> QuotaLimitsAnswer:
    """Change an organization's quotas.

    A lower limit deletes nothing that exists. Quotas that are not named stay.
    """
    await quotas.change(
        request.platform.database,
        request.path["organization_id"],
        {quotas.parse(name): limit for name, limit in body.quotas.items()},
        actor=request.principal.actor,
        now=request.now,
    )
    return await list_quotas(request)


async def list_members(request: Request) -> MembersAnswer:
    """List members and open invitations."""
    of = await _existing(request)
    members = await team.members(request.platform, of)
    invited = await invitations.list_(request.platform, of, now=request.now)
    return MembersAnswer(
        members=[_member(each) for each in members],
        invitations=[_invitation(each) for each in invited],
    )


async def create_member(request: Request, body: NewMember) -> MemberItem:
    """Create a person who belongs to an organization.

    Invite those who have an account already.
    """
    made = await accounts.create_user(
        request.platform,
        body.email,
        password=body.password,
        organization_id=request.path["organization_id"],
        role=Role(body.role),
        actor=request.principal.actor,
    )
    return MemberItem(
        user_id=made.id,
        email=made.email,
        role=body.role,
        since=to_iso(made.created),
    )


async def set_role(request: Request, body: RoleChange) -> MembersAnswer:
    """Change a member's role.

    An organization always keeps at least one owner.
    """
    await team.set_role(
        request.platform,
        request.path["organization_id"],
        request.path["user_id"],
        Role(body.role),
        actor=request.principal.actor,
        now=request.now,
    )
    return await list_members(request)


async def remove_member(request: Request) -> Removed:
    """Remove a member from an organization.

    An organization always keeps at least one owner.
    """
    await team.remove(
        request.platform,
        request.path["organization_id"],
        request.path["user_id"],
        actor=request.principal.actor,
        now=request.now,
    )
    return Removed(id=request.path["user_id"])


async def invite(request: Request, body: NewInvitation) -> NewInvitationAnswer:
    """Invite somebody to an organization.

    The link is in this answer alone.
    """
    made, word, is_sent = await invitations.invite(
        request.platform,
        request.path["organization_id"],
        email=body.email,
        role=Role(body.role),
        actor=request.principal.actor,
        now=request.now,
    )
    item = _invitation(made)
    origin = own_names.main_origin(request.platform.settings)
    return NewInvitationAnswer(
        invitation_id=item.invitation_id,
        email=item.email,
        role=item.role,
        expires=item.expires,
        link=f"{origin}/app/invitation?{urlencode({'word': word})}",
        emailed=is_sent,
    )


async def revoke_invitation(request: Request) -> Removed:
    """Revoke an invitation."""
    await invitations.withdraw(
        request.platform,
        request.path["organization_id"],
        request.path["invitation_id"],
        actor=request.principal.actor,
        now=request.now,
    )
    return Removed(id=request.path["invitation_id"])


async def list_keys(request: Request) -> KeysAnswer:
    """List an organization's API keys, without their secrets."""
    found = await request.platform.database.reader.keys.list_(await _existing(request))
    return KeysAnswer(keys=[KeyItem(**_key(each)) for each in found])


async def create_key(request: Request, body: NewKey) -> NewKeyAnswer:
    """Create an API key for an organization.

    The key is in this answer alone.
    """
    made, text = await api_keys.create(
        request.platform,
        request.path["organization_id"],
        name=body.name,
        scopes=body.scopes,
        expires=ends(request, body.days),
        actor=request.principal.actor,
    )
    return NewKeyAnswer(**_key(made), api_key=text)


async def revoke_key(request: Request) -> Removed:
    """Revoke an organization's API key.

    It stops working at once.
    """
    await api_keys.revoke(
        request.platform,
        request.path["organization_id"],
        request.path["key_id"],
        actor=request.principal.actor,
    )
    return Removed(id=request.path["key_id"])


async def list_users(request: Request) -> UsersAnswer:
    """List everybody who can sign in."""
    people = await request.platform.database.reader.accounts.people()
    return UsersAnswer(
        users=[
            UserItem(user_id=each.id, email=each.email, created=to_iso(each.created))
            for each in people
        ]
    )


async def list_sessions(request: Request) -> SessionsAnswer:
    """List a person's sessions."""
    reader = request.platform.database.reader
    person = await reader.people.get(request.path["user_id"])
    return SessionsAnswer(
        sessions=[
            SessionItem(
                seen=to_iso(each.last_seen),
                address=each.address,
                browser=each.browser,
                created=to_iso(each.created),
                expires=to_iso(each.expires),
            )
            for each in await reader.sessions.list_(person.id)
        ]
    )


async def sign_out(request: Request) -> SessionsAnswer:
    """Sign a person out everywhere.

    The password stays the same.
    """
    email = await _email(request)
    await accounts.sign_out(request.platform, email, actor=request.principal.actor)
    return await list_sessions(request)


async def readmit(request: Request, body: Readmission) -> SessionsAnswer:
    """Reset a person's password and authenticator.

    For somebody who lost one of them: they are signed out everywhere. An operator is
    readmitted with `leyden users reset-password` alone: no key makes itself one.
    """
    await accounts.readmit(
        request.platform,
        await _email(request),
        password=body.password,
        keep_authenticator=body.keep_authenticator,
        actor=request.principal.actor,
        not_operators=True,
    )
    return await list_sessions(request)


async def _existing(request: Request) -> str:
    """Return the id of the path's organization; raise NotFound if it doesn't exist."""
    of = request.path["organization_id"]
    return (await request.platform.database.reader.accounts.get(of)).id


async def _email(request: Request) -> str:
    reader = request.platform.database.reader
    return (await reader.people.get(request.path["user_id"])).email


def ends(request: Request, days: int) -> datetime | None:
    """Return when something expires that lasts so many days; 0 is never."""
    return request.now + timedelta(days=days) if days else None


def _item(shown: Organization) -> OrganizationItem:
    return OrganizationItem(
        organization_id=shown.id, name=shown.name, created=to_iso(shown.created)
    )


def _member(shown: Member) -> MemberItem:
    return MemberItem(
        user_id=shown.person.id,
        email=shown.person.email,
        role=_ROLES[shown.role],
        since=to_iso(shown.since),
    )


def _invitation(shown: Invitation) -> InvitationItem:
    return InvitationItem(
        invitation_id=shown.id,
        email=shown.email,
        role=_ROLES[shown.role],
        expires=to_iso(shown.expires),
    )


def _key(shown: ApiKey) -> dict[str, Any]:
    return {
        "key_id": shown.id,
        "name": shown.name,
        "begins": shown.hint,
        "scopes": sorted(shown.scopes),
        "created": to_iso(shown.created),
        "expires": or_none(shown.expires),
        "last_used": or_none(shown.last_used),
        "revoked": or_none(shown.revoked),
    }


def or_none(at: datetime | None) -> str | None:
    """Return a time as the API writes it, or None."""
    return to_iso(at) if at else None
