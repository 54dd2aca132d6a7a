"""API keys: created, used and revoked."""

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from leyden.base import rights
from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.accounts import (
    INSTALLATION,
    ApiKey,
    Organization,
    Principal,
    Scope,
    check_name,
    new_id,
    parse_scopes,
)
from leyden.base.rules.sign_in import RIGHTS, Right
from leyden.base.rules.times import Clock, to_iso
from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import Forbidden, Malformed, NotFound, Unauthorized
from leyden.people import people_events, quotas
from leyden.people.rules.keys import hint, is_key, write_key
from leyden.people.rules.quotas import Quota

_DIGEST = "API key"
_SPENDS = (
    "scope: your role can't create keys with the scope flow, which can spend money."
)
EXPIRING_KEYS: Final = "expiring keys"  # a kind of task
NOTICE: Final = timedelta(days=7)  # that a key ends
_LOOK_EVERY: Final = timedelta(hours=1)
_AT_ONCE: Final = 100


async def create(
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
    key, text = _new(
        platform,
        organization_id,
        name=name,
        scopes=parse_scopes(scopes),
        expires=expires,
        key_id=key_id,
    )
    now = key.created
    limit = quotas.limits(platform.settings)
    async with platform.database.transaction() as tx:
        role = await rights.check(tx, actor, organization_id, Right.KEYS)
        if Scope.FLOW in key.scopes and Right.MONEY not in RIGHTS[role]:
            raise Forbidden(_SPENDS)
        used = await tx.keys.count_live(organization_id, now=now)
        await quotas.check(tx, limit, organization_id, Quota.KEYS, used=used)
        await tx.keys.delete_ended(organization_id, now=now)
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


async def create_operator_key(
    platform: Platform,
    *,
    name: str,
    expires: datetime | None,
    actor: str,
    key_id: str | None = None,
) -> tuple[ApiKey, str]:
    """Create a key of the operator API, as `create` does for an organization.

    Operators create it, and no key can: so a key that was revoked has no successor.
    """
    key, text = _new(
        platform,
        INSTALLATION,
        name=name,
        scopes=frozenset({Scope.OPERATOR}),
        expires=expires,
        key_id=key_id,
    )
    async with platform.database.transaction() as tx:
        await rights.check_operator(tx, actor)
        await tx.keys.delete_ended(INSTALLATION, now=key.created)
        await tx.keys.add(key, digest=_digest(platform, text))
        await tx.audit.add(
            at=key.created,
            actor=actor,
            action="operator key created",
            subject=key.id,
            name=key.name,
            expires=None if expires is None else to_iso(expires),
        )
    return key, text


async def revoke_operator_key(platform: Platform, key_id: str, *, actor: str) -> None:
    """Revoke a key of the operator API, at once; raise NotFound if none is valid."""
    now = platform.clock()
    async with platform.database.transaction() as tx:
        await rights.check_operator(tx, actor)
        await _revoke(tx, INSTALLATION, key_id, actor=actor, now=now)


def _new(
    platform: Platform,
    owner_id: str,
    *,
    name: str,
    scopes: frozenset[Scope],
    expires: datetime | None,
    key_id: str | None,
) -> tuple[ApiKey, str]:
    """Return a key that is not stored yet, with its text."""
    now = platform.clock()
    if expires is not None and expires <= now:
        raise Malformed("expires: must be in the future")
    text = write_key(secrets.token_bytes(32))
    key = ApiKey(
        id=key_id or new_id(),
        organization_id=owner_id,
        name=check_name(name, what="name"),
        hint=hint(text),
        scopes=scopes,
        created=now,
        expires=expires,
        last_used=None,
        revoked=None,
    )
    return key, text


async def revoke(
    platform: Platform, organization_id: str, key_id: str, *, actor: str
) -> None:
    """Revoke a key, at once and everywhere; raise NotFound if none is valid."""
    now = platform.clock()
    async with platform.database.transaction() as tx:
        await rights.check(tx, actor, organization_id, Right.KEYS)
        await _revoke(tx, organization_id, key_id, actor=actor, now=now)


async def revoke_all(tx: Stores, *, actor: str, now: datetime) -> int:
    """Revoke all keys in force, operators' too; return how many there were."""
    revoked = 0
    for owner_id in [INSTALLATION, *(each.id for each in await tx.accounts.list_())]:
        for key in await tx.keys.list_(owner_id):
            if key.is_live(now):
                await _revoke(tx, owner_id, key.id, actor=actor, now=now)
                revoked += 1
    return revoked


async def _revoke(
    tx: Stores, organization_id: str, key_id: str, *, actor: str, now: datetime
) -> None:
    await tx.keys.revoke(organization_id, key_id, now=now)
    is_operators = organization_id == INSTALLATION
    if not is_operators:
        tx.events.add(people_events.of_revoked_key(organization_id, key_id), at=now)
    await tx.audit.add(
        at=now,
        actor=actor,
        action="operator key revoked" if is_operators else "key revoked",
        subject=key_id,
        organization_id=None if is_operators else organization_id,
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


async def owner(
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
    return platform.sealer.digest(text.encode(), purpose=_DIGEST)


async def announce_expiring(due: ClaimedTask, *, clock: Clock) -> None:
    """Log each key that ends soon once, also those that a killed process missed."""
    now = clock()
    async with due.transaction() as tx:
        keys = await tx.keys.expiring(now=now, within=NOTICE, limit=_AT_ONCE)
        tx.events.add(*map(people_events.of_expiring_key, keys), at=now)
        again = now if len(keys) == _AT_ONCE else now + _LOOK_EVERY
        await due.reschedule(tx, due=again)
