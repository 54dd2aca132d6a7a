"""Organizations, people and API keys.

Operators create them; everyone uses them.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime

from leyden.domain.accounts import (
    ApiKey,
    Membership,
    Organization,
    Person,
    Principal,
    Role,
    Scope,
    check_email,
    check_name,
    new_id,
    parse_scopes,
)
from leyden.domain.keys import hint, is_key, write_key
from leyden.domain.quotas import Quota
from leyden.domain.sign_in import RIGHTS, Right
from leyden.domain.times import to_iso
from leyden.errors import Forbidden, Malformed, NotFound, Unauthorized
from leyden.services.people import notices, passwords, people_events
from leyden.services.platform import Platform
from leyden.services.shared import quotas, rights

_KEY_DIGEST = "API key"
_SPENDS = "scope: a key for flow spends money, which your role may not do."


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
) -> Person:
    """Set a person's new password, and sign them out everywhere.

    Also remove their authenticator and passkeys, unless `keep_authenticator`.
    """
    person = await get_person(platform, email)
    digest = await passwords.digest(password)
    async with platform.database.transaction() as tx:
        await tx.accounts.set_password(person.id, digest)
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
        raise NotFound(f"there is no user {email}; see `leyden user list`")
    return found


async def create_key(
    platform: Platform,
    organization_id: str,
    *,
    name: str,
    scopes: Iterable[str],
    expires: datetime | None,
    actor: str,
    key_id: str | None = None,
) -> tuple[ApiKey, str]:
    """Create an API key; return it with its text, which is shown only once.

    A second call with the same id raises Taken: the text is gone.
    """
    now = platform.clock()
    if expires is not None and expires <= now:
        raise Malformed("expires: must be in the future")
    text = write_key(secrets.token_bytes(32))
    key = ApiKey(
        id=key_id or new_id(),
        organization_id=organization_id,
        name=check_name(name, what="name"),
        hint=hint(text),
        scopes=parse_scopes(scopes),
        created=now,
        expires=expires,
        last_used=None,
        revoked=None,
    )
    most = quotas.limits(platform.settings)
    async with platform.database.transaction() as tx:
        role = await rights.check(tx, actor, organization_id, Right.KEYS)
        if Scope.FLOW in key.scopes and Right.MONEY not in RIGHTS[role]:
            raise Forbidden(_SPENDS)
        used = await tx.keys.count_live(organization_id, now=now)
        await quotas.check(tx, most, organization_id, Quota.KEYS, used=used)
        await tx.keys.forget_ended(organization_id, now=now)
        await tx.keys.add(key, digest=_digest(platform, text))
        tx.events.add(people_events.of_new_key(key), at=now)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="key created",
            subject=key.id,
            organization_id=organization_id,
            name=key.name,
            expires=None if expires is None else to_iso(expires),
            scopes=",".join(sorted(key.scopes)),
        )
    return key, text


async def revoke_key(
    platform: Platform, organization_id: str, key_id: str, *, actor: str
) -> None:
    """Revoke a key, at once and everywhere; raise NotFound if none is valid."""
    now = platform.clock()
    async with platform.database.transaction() as tx:
        await rights.check(tx, actor, organization_id, Right.KEYS)
        await tx.keys.revoke(organization_id, key_id, now=now)
        tx.events.add(people_events.of_revoked_key(organization_id, key_id), at=now)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="key revoked",
            subject=key_id,
            organization_id=organization_id,
        )


async def authenticate(platform: Platform, text: str, *, now: datetime) -> Principal:
    """Return the principal of a key; raise Unauthorized if it is not valid."""
    if not is_key(text):
        raise Unauthorized
    digest = _digest(platform, text)
    principal = await platform.database.reader.keys.principal(digest, now=now)
    if principal is None:
        raise Unauthorized
    return principal


async def key_owner(
    platform: Platform, principal: Principal
) -> tuple[Organization, ApiKey]:
    """Return the principal's organization and key."""
    reader = platform.database.reader
    organization = await reader.accounts.get(principal.organization_id)
    for key in await reader.keys.list_(organization.id):
        if key.id == principal.key_id:
            return organization, key
    raise NotFound


def _digest(platform: Platform, text: str) -> bytes:
    return platform.sealer.digest(text.encode(), purpose=_KEY_DIGEST)
