"""Who is at the browser, for how long, and what they may do there."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import Final

from leyden.domain.accounts import Organization, Person, Role
from leyden.values import Struct

TOTP_STEP_S: Final = 30
_TOTP_DIGITS: Final = 6
_TOTP_DRIFT: Final = 1  # steps that a phone's clock may be off


class Right(StrEnum):
    """What a page lets one do in an organization."""

    LOOK = auto()  # everything that is no secret
    NODES = auto()  # make, change, delete
    KEYS = auto()  # API keys
    MONEY = auto()  # order, pay, claim
    TEAM = auto()  # who is in it


RIGHTS: Final[Mapping[Role, frozenset[Right]]] = {
    Role.OWNER: frozenset(Right),
    Role.ADMIN: frozenset(Right),
    Role.DEVELOPER: frozenset({Right.LOOK, Right.NODES, Right.KEYS}),
    Role.BILLING: frozenset({Right.LOOK, Right.MONEY}),
    Role.VIEWER: frozenset({Right.LOOK}),
}


class Session(Struct, frozen=True, kw_only=True):
    """One browser that somebody signed in with."""

    id: str
    user_id: str
    created: datetime
    seen: datetime
    expires: datetime
    whole: bool  # else the second factor is still to come
    address: str
    browser: str

    def is_live(self, now: datetime, *, idle: timedelta) -> bool:
        """Tell whether it still opens anything."""
        return now < self.expires and now - self.seen < idle


class Belonging(Struct, frozen=True, kw_only=True):
    """An organization somebody is in, and as what."""

    organization: Organization
    role: Role

    def may(self, right: Right) -> bool:
        """Tell whether they may do this there."""
        return right in RIGHTS[self.role]


class SignedIn(Struct, frozen=True, kw_only=True):
    """Somebody at a browser."""

    person: Person
    session: Session
    belongs_to: tuple[Belonging, ...]
    is_operator: bool

    @property
    def actor(self) -> str:
        """Name them in the audit table."""
        return f"user:{self.person.id}"


def totp_code(secret: bytes, step: int) -> str:
    """Give the code that an authenticator shows in this step (RFC 6238, SHA-1)."""
    digest = hmac.digest(secret, step.to_bytes(8), hashlib.sha1)
    start = digest[-1] & 0x0F
    number = int.from_bytes(digest[start : start + 4]) & 0x7FFFFFFF
    return str(number % 10**_TOTP_DIGITS).zfill(_TOTP_DIGITS)


def totp_step(secret: bytes, code: str, *, now: datetime, last_step: int) -> int | None:
    """Give the step whose code this is, if it is one that has not been used."""
    present = int(now.timestamp()) // TOTP_STEP_S
    found = None
    for step in range(present - _TOTP_DRIFT, present + _TOTP_DRIFT + 1):
        right = hmac.compare_digest(totp_code(secret, step).encode(), code.encode())
        if right and step > last_step:
            found = step
    return found
