"""Authorization: organizations, their people and their API keys."""

import re
import unicodedata
import uuid
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum, auto
from typing import Final

from leyden.base.rules.combining_marks import compose
from leyden.errors import Malformed
from leyden.values import Struct

_LONGEST_NAME = 50
_LONGEST_EMAIL = 254
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)*")
_UNSHOWABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
INSTALLATION: Final = "installation"  # what operator keys and alarms belong to


class Role(StrEnum):
    """A person's role in an organization, from most to least permissions."""

    OWNER = auto()  # everything, including the choice of owners
    ADMIN = auto()  # everything except the choice of owners
    DEVELOPER = auto()  # nodes and keys
    BILLING = auto()  # orders and money
    VIEWER = auto()  # read-only


class Scope(StrEnum):
    """The parts of the API that a key may access."""

    NODE = auto()  # the node-management endpoints
    FLOW = auto()  # the channel-ordering endpoints
    OPERATOR = auto()  # the operator API; only keys of the installation have it


OF_ORGANIZATIONS: Final = frozenset({Scope.NODE, Scope.FLOW})


class Organization(Struct, frozen=True, kw_only=True):
    """A team that is also an account: owns nodes, keys, orders, credit."""

    id: str
    name: str
    created: datetime


class Person(Struct, frozen=True, kw_only=True):
    """A person who signs in."""

    id: str
    email: str
    created: datetime
    # For the dashboard, where the person is signed in; "" is what the browser has.
    theme: str = ""
    time_zone: str = ""


class Membership(Struct, frozen=True, kw_only=True):
    """A person's membership in an organization."""

    organization_id: str
    user_id: str
    role: Role
    created: datetime


class ApiKey(Struct, frozen=True, kw_only=True):
    """A stored API key, without the key itself, which is shown once."""

    id: str
    organization_id: str
    name: str
    hint: str
    scopes: frozenset[Scope]
    created: datetime
    expires: datetime | None
    last_used: datetime | None
    revoked: datetime | None

    def is_live(self, now: datetime) -> bool:
        """Return whether the key is valid now."""
        return self.revoked is None and (self.expires is None or now < self.expires)


class Principal(Struct, frozen=True):
    """The organization and key on whose behalf a request is made."""

    organization_id: str
    key_id: str
    scopes: frozenset[Scope]

    @property
    def is_operator(self) -> bool:
        """Whether the key is the installation's, and not an organization's."""
        return self.organization_id == INSTALLATION and Scope.OPERATOR in self.scopes

    @property
    def actor(self) -> str:
        """The principal's name in the audit log."""
        kind = "operator:key" if self.is_operator else "key"
        return f"{kind}:{self.key_id}"


def new_id() -> str:
    """Return a new id for an organization, person, key or audit entry."""
    return str(uuid.uuid4())


def check_name(name: str, *, what: str) -> str:
    """Return the name trimmed and in NFC; raise Malformed if it is not valid."""
    found = compose(name, limit=_LONGEST_NAME)
    if not found:
        raise Malformed(f"{what}: must have 1 to {_LONGEST_NAME} characters")
    if any(unicodedata.category(character) in _UNSHOWABLE for character in found):
        raise Malformed(f"{what}: must not contain control or invisible characters")
    return found


def check_email(email: str) -> str:
    """Return the email address in lower case; raise if it is not valid."""
    found = (compose(email, limit=_LONGEST_EMAIL) or "").lower()
    if len(found) > _LONGEST_EMAIL or not _EMAIL.fullmatch(found):
        raise Malformed("email: must look like name@example.org")
    return found


def parse_scopes(words: Iterable[str]) -> frozenset[Scope]:
    """Parse an organization's scopes: at least one, and each must be known."""
    try:
        scopes = frozenset(Scope(word.strip()) for word in words)
    except ValueError:
        scopes = frozenset()
    if not scopes or not scopes <= OF_ORGANIZATIONS:
        known = ", ".join(each for each in Scope if each in OF_ORGANIZATIONS)
        raise Malformed(f"scope: must be one or more of: {known}")
    return scopes
