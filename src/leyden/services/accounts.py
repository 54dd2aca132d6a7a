"""Organizations, people and API keys: made by operators, used by everyone."""

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
from leyden.errors import Forbidden, Malformed, NotFound, Unauthorized
from leyden.services import passwords, quotas, rights
from leyden.services.platform import Platform

_KEY_DIGEST = "API key"
_SPENDS = "A key for channels spends money, which your role does not."


async def create_organization(
    platform: Platform, name: str, *, actor: str
) -> Organization:
    """Make an organization; Taken when there is one of that name."""
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
    """Make a person who belongs to an organization; Taken when the address is known."""
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
    """Give a person another password, and sign them out everywhere.

    Without their authenticator and passkeys, unless they have those still.
    """
    person = await known(platform, email)
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
    return person


async def set_operator(
    platform: Platform, email: str, *, operator: bool, actor: str
) -> Person:
    """Let a person run this installation, or no longer; twice is the same as once."""
    person = await known(platform, email)
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
    """End all of a person's sessions; nothing else of theirs changes."""
    person = await known(platform, email)
    async with platform.database.transaction() as tx:
        await tx.sessions.end_others(person.id, but="")
        await tx.audit.add(
            at=platform.clock(),
            actor=actor,
            action="user signed out",
            subject=person.id,
        )
    return person


async def known(platform: Platform, email: str) -> Person:
    """Give who signs in with this address; NotFound says where to look."""
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
    """Make an API key, and give it with its text, which nobody can see again.

    The second time with the same id it is Taken: the text is gone.
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
        await tx.audit.add(
            at=now,
            actor=actor,
            action="key created",
            subject=key.id,
            organization_id=organization_id,
            name=key.name,
            scopes=",".join(sorted(key.scopes)),
        )
    return key, text


async def revoke_key(
    platform: Platform, organization_id: str, key_id: str, *, actor: str
) -> None:
    """End a key, at once and everywhere; NotFound when there is no live one."""
    now = platform.clock()
    async with platform.database.transaction() as tx:
        await rights.check(tx, actor, organization_id, Right.KEYS)
        await tx.keys.revoke(organization_id, key_id, now=now)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="key revoked",
            subject=key_id,
            organization_id=organization_id,
        )


async def authenticate(platform: Platform, text: str, *, now: datetime) -> Principal:
    """Tell on whose behalf a key speaks; Unauthorized when it is not a live one."""
    if not is_key(text):
        raise Unauthorized
    digest = _digest(platform, text)
    principal = await platform.database.reader.keys.speaker(digest, now=now)
    if principal is None:
        raise Unauthorized
    return principal


async def whose(
    platform: Platform, principal: Principal
) -> tuple[Organization, ApiKey]:
    """Give the key that speaks, and the organization it speaks for."""
    reader = platform.database.reader
    organization = await reader.accounts.get(principal.organization_id)
    for key in await reader.keys.list_(organization.id):
        if key.id == principal.key_id:
            return organization, key
    raise NotFound


def _digest(platform: Platform, text: str) -> bytes:
    return platform.sealer.digest(text.encode(), purpose=_KEY_DIGEST)
