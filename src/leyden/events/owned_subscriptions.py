"""Whose subscription it is, and who may see, change and be sent what it gets."""

from collections.abc import Collection
from datetime import datetime

from leyden.base import rights
from leyden.base.database.stores import Stores
from leyden.base.rules.accounts import Scope
from leyden.base.rules.sign_in import Right, scopes_of
from leyden.errors import Forbidden, NotFound, RightsChanged
from leyden.events.dispatchers import Dispatcher
from leyden.events.rows.subscriptions import SUBSCRIPTIONS, Subscription
from leyden.events.rules.chat import Format
from leyden.events.rules.events import INSTALLATION, match_types, types_of, visible


async def list_(
    dispatcher: Dispatcher, organization_id: str, scopes: Collection[Scope]
) -> list[Subscription]:
    """Return an organization's subscriptions that a key may see, oldest first."""
    found = await dispatcher.database.reader.subscriptions.list_(organization_id)
    return [each for each in found if _is_visible(each, scopes)]


async def get(
    stores: Stores,
    organization_id: str,
    subscription_id: str,
    scopes: Collection[Scope],
) -> Subscription:
    """Return an organization's own subscription; raise NotFound, or Forbidden."""
    found = await stores.subscriptions.find(subscription_id)
    return _own(found, organization_id, scopes)


async def lock(
    tx: Stores,
    organization_id: str,
    subscription_id: str,
    scopes: Collection[Scope],
    *,
    actor: str,
    now: datetime,
) -> Subscription:
    """Lock a subscription for who may see all that it gets; make it due."""
    await confirm(tx, organization_id, scopes, actor=actor)
    # The task before its row, as the dispatcher locks them.
    await get(tx, organization_id, subscription_id, scopes)
    await tx.tasks.put(SUBSCRIPTIONS, subscription_id, due=now)
    found = await tx.subscriptions.lock(subscription_id)
    return _own(found, organization_id, scopes)


async def confirm(
    tx: Stores, organization_id: str, scopes: Collection[Scope], *, actor: str
) -> None:
    """Confirm that the actor still may, with these scopes; lock the organization."""
    if organization_id == INSTALLATION:
        await rights.check_operator(tx, actor)
        return
    role = await rights.check(tx, actor, organization_id, Right.KEYS)
    if not scopes_of(role).issuperset(scopes):
        raise RightsChanged


def types_sent(to: Subscription) -> frozenset[str]:
    """Return the types of events that a subscription gets."""
    known = types_of(to.organization_id)
    return match_types(to.types, among=known, known=known)


def hidden_types(organization_id: str, scopes: Collection[Scope]) -> frozenset[str]:
    """Return the types that it may have got before its types were changed."""
    known = types_of(organization_id)
    return frozenset(known) - visible(scopes, known=known)


def _own(
    found: Subscription | None, organization_id: str, scopes: Collection[Scope]
) -> Subscription:
    if found is None or found.organization_id != organization_id:
        raise NotFound
    if found.format is Format.EMAIL:  # a person's own
        raise NotFound
    if not _is_visible(found, scopes):
        raise Forbidden("this key lacks a scope for the subscription's events")
    return found


def _is_visible(found: Subscription, scopes: Collection[Scope]) -> bool:
    known = types_of(found.organization_id)
    return types_sent(found) <= visible(scopes, known=known)


async def audit(
    tx: Stores, of: Subscription, action: str, *, actor: str, now: datetime
) -> None:
    """Write into the audit what was done to a subscription."""
    await tx.audit.add(
        at=now,
        actor=actor,
        action=action,
        subject=of.id,
        organization_id=of.organization_id,
    )
