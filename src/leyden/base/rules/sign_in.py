"""Sign-in: sessions, rights of roles, and authenticator codes."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import Final

from leyden.base.rules.accounts import Organization, Person, Role, Scope
from leyden.values import Struct

TOTP_STEP_S: Final = 30
_TOTP_DIGITS: Final = 6
_TOTP_DRIFT: Final = 1  # steps that a phone's clock may be off


class Right(StrEnum):
    """A permission for pages of an organization."""

    LOOK = auto()  # read everything that is not secret
    NODES = auto()  # create, change, delete
    KEYS = auto()  # API keys, and webhook endpoints of the organization
    MONEY = auto()  # order, pay, claim
    TEAM = auto()  # members and invitations
    AUDIT = auto()  # the audit log


RIGHTS: Final[Mapping[Role, frozenset[Right]]] = {
    Role.OWNER: frozenset(Right),
    Role.ADMIN: frozenset(Right),
    Role.DEVELOPER: frozenset({Right.LOOK, Right.NODES, Right.KEYS}),
    Role.BILLING: frozenset({Right.LOOK, Right.MONEY}),
    Role.VIEWER: frozenset({Right.LOOK}),
}


def scopes_of(role: Role) -> frozenset[Scope]:
    """Return the scopes of keys that a role may create, and of events it may send."""
    needed = {Scope.NODE: Right.NODES, Scope.FLOW: Right.MONEY}
    return frozenset(scope for scope, right in needed.items() if right in RIGHTS[role])


class Session(Struct, frozen=True, kw_only=True):
    """A signed-in browser."""

    id: str
    user_id: str
    created: datetime
    last_seen: datetime
    expires: datetime
    is_complete: bool  # else the second factor is still missing
    address: str
    browser: str

    def is_live(self, now: datetime, *, idle: timedelta) -> bool:
        """Return whether the session is still valid."""
        return now < self.expires and now - self.last_seen < idle


class UserMembership(Struct, frozen=True, kw_only=True):
    """A person's organization and the role in it."""

    organization: Organization
    role: Role

    def may(self, right: Right) -> bool:
        """Return whether the role has this right."""
        return right in RIGHTS[self.role]


class SignedIn(Struct, frozen=True, kw_only=True):
    """A signed-in person."""

    person: Person
    session: Session
    memberships: tuple[UserMembership, ...]
    is_operator: bool

    @property
    def actor(self) -> str:
        """The person's name in the audit log."""
        return f"user:{self.person.id}"


def totp_code(secret: bytes, step: int) -> str:
    """Return the authenticator code of this step (RFC 6238, SHA-1)."""
    digest = hmac.digest(secret, step.to_bytes(8), hashlib.sha1)
    start = digest[-1] & 0x0F
    number = int.from_bytes(digest[start : start + 4]) & 0x7FFFFFFF
    return str(number % 10**_TOTP_DIGITS).zfill(_TOTP_DIGITS)


def totp_step(secret: bytes, code: str, *, now: datetime, last_step: int) -> int | None:
    """Return the step of this code if it is valid and unused, else None."""
    present = int(now.timestamp()) // TOTP_STEP_S
    found = None
    for step in range(present - _TOTP_DRIFT, present + _TOTP_DRIFT + 1):
        right = hmac.compare_digest(totp_code(secret, step).encode(), code.encode())
        if right and step > last_step:
            found = step
    return found
