"""Events of keys and members, for the event log of their organization."""

from leyden.base.rules.accounts import ApiKey, Role
from leyden.base.rules.sign_in import Session
from leyden.base.rules.times import to_iso
from leyden.events.rules.events import Event
from leyden.people.rows.people import Member


def of_new_key(key: ApiKey) -> Event:
    """Return the event of a new API key."""
    return Event(
        organization_id=key.organization_id,
        type="key.created",
        data={
            "key_id": key.id,
            "name": key.name,
            "scopes": sorted(key.scopes),
            "expires": to_iso(key.expires) if key.expires is not None else "",
        },
    )


def of_revoked_key(organization_id: str, key_id: str) -> Event:
    """Return the event of a revoked API key."""
    return Event(
        organization_id=organization_id, type="key.revoked", data={"key_id": key_id}
    )


def of_expiring_key(key: ApiKey) -> Event:
    """Return the event of a key that ends soon, told once."""
    expires = to_iso(key.expires) if key.expires is not None else ""
    return Event(
        organization_id=key.organization_id,
        type="key.expiring",
        data={"key_id": key.id, "name": key.name, "expires": expires},
        once=f"{key.id} expiring",
    )


def of_new_device(organization_id: str, session: Session) -> Event:
    """Return the event of a sign-in with a browser that is new for the person."""
    return Event(
        organization_id=organization_id,
        type="login.new_device",
        data={"user_id": session.user_id, "session_id": session.id},
    )


def of_new_member(organization_id: str, user_id: str, role: Role) -> Event:
    """Return the event of somebody who joined."""
    return Event(
        organization_id=organization_id,
        type="member.joined",
        data={"user_id": user_id, "role": role},
    )


def of_new_role(organization_id: str, member: Member, role: Role) -> Event:
    """Return the event of a member's new role."""
    return Event(
        organization_id=organization_id,
        type="member.role_changed",
        data={
            "user_id": member.person.id,
            "role": role,
            "from_role": member.role,
        },
    )


def of_former_member(organization_id: str, member: Member) -> Event:
    """Return the event of a member who was removed, or left."""
    return Event(
        organization_id=organization_id,
        type="member.removed",
        data={"user_id": member.person.id, "role": member.role},
    )
