"""Quotas: an organization's limits, counted in the adding transaction.

The organization is locked: of fifty requests at once for the last place,
one succeeds. What exists beyond a quota stays; only additions are refused.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from leyden.base import rights
from leyden.base.database.database import Database
from leyden.base.database.stores import Stores
from leyden.base.rules.times import to_iso
from leyden.base.settings import Settings
from leyden.errors import Malformed, OverQuota, TooMany
from leyden.people.rules import quotas
from leyden.people.rules.quotas import (
    CANCELLED_ORDERS,
    KEPT_NODES,
    MB,
    Limits,
    Quota,
    UsedQuota,
)

# Longer than making an invoice and an address takes at the worst.
_SLOT_LASTS: Final = timedelta(minutes=2)
_LARGEST: Final = 10**9
_SETTINGS: Final[Mapping[Quota, str]] = {
    Quota.NODES: "nodes_per_organization",
    Quota.UNPAID_ORDERS: "unpaid_orders_per_organization",
    Quota.KEYS: "keys_per_organization",
    Quota.INVITATIONS: "invitations_per_organization",
    Quota.MEMBERS: "members_per_organization",
    Quota.MACAROONS_PER_NODE: "macaroons_per_node",
    Quota.REPLACED_BACKUPS_MB: "replaced_backups_mb_per_organization",
    Quota.IDEMPOTENCY_KEYS: "idempotency_keys_per_organization",
}


def limits(settings: Settings) -> Limits:
    """Return the limits of organizations without an exception."""
    return {quota: getattr(settings, _SETTINGS[quota]) for quota in Quota}


async def limit(
    tx: Stores, defaults: Limits, organization_id: str, quota: Quota
) -> int:
    """Return an organization's limit for a quota."""
    exceptions = await tx.quotas.exceptions(organization_id)
    return exceptions.get(quota, defaults[quota])


async def usage(
    database: Database, defaults: Limits, organization_id: str, *, now: datetime
) -> dict[Quota, UsedQuota]:
    """Return all quotas of an organization, and how much of each is used."""
    reader = database.reader
    exceptions = await reader.quotas.exceptions(organization_id)
    limits_ = {quota: exceptions.get(quota, defaults[quota]) for quota in Quota}
    of = reader.quotas
    used = {
        Quota.NODES: (await of.nodes(organization_id)).existing,
        Quota.UNPAID_ORDERS: await of.unpaid_orders(organization_id, now=now),
        Quota.KEYS: await reader.keys.count_live(organization_id, now=now),
        Quota.INVITATIONS: len(
            await reader.invitations.list_(organization_id, now=now)
        ),
        Quota.MEMBERS: await of.members(organization_id),
        Quota.MACAROONS_PER_NODE: await of.max_macaroons(organization_id),
        Quota.REPLACED_BACKUPS_MB: quotas.megabytes(
            await of.replaced_bytes(organization_id)
        ),
        Quota.IDEMPOTENCY_KEYS: await of.answers(
            organization_id, limit=limits_[Quota.IDEMPOTENCY_KEYS] + 1, now=now
        ),
    }
    return {
        quota: UsedQuota(
            used=used[quota], limit=limits_[quota], default=defaults[quota]
        )
        for quota in Quota
    }


async def change(
    database: Database,
    organization_id: str,
    anew: Mapping[Quota, int | None],
    *,
    actor: str,
    now: datetime,
) -> None:
    """Set exceptions for one organization; None removes an exception.

    What exists already stays, even if it exceeds the new limit.
    """
    for quota, limit in anew.items():
        if limit is not None and not 0 <= limit <= _LARGEST:
            raise Malformed(f"{quota}: must be a number from 0 to {_LARGEST:,}")
    async with database.transaction() as tx:
        await rights.check_operator(tx, actor)
        await tx.accounts.lock(organization_id)
        before = await tx.quotas.exceptions(organization_id)
        anew = {
            quota: limit for quota, limit in anew.items() if before.get(quota) != limit
        }
        if not anew:
            return
        for quota, limit in anew.items():
            if limit is None:
                await tx.quotas.reset(organization_id, quota)
            else:
                await tx.quotas.set(organization_id, quota, limit)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="quotas changed",
            subject=organization_id,
            organization_id=organization_id,
            changes={
                str(quota): (before.get(quota, "default"), _or_default(limit))
                for quota, limit in anew.items()
            },
        )


def _or_default(limit: int | None) -> int | str:
    return "default" if limit is None else limit


def parse(name: str) -> Quota:
    """Parse the name of a quota; raise Malformed with a list of the names."""
    try:
        return Quota(name)
    except ValueError:
        known = ", ".join(Quota)
        raise Malformed(f"{name}: not a quota; choose one of {known}") from None


async def check(
    tx: Stores, defaults: Limits, organization_id: str, quota: Quota, *, used: int
) -> None:
    """Raise if a quota is used up; the caller has locked the organization.

    `used` is the number before the addition.
    """
    allowed = await limit(tx, defaults, organization_id, quota)
    quotas.check(quota, used=used, limit=allowed)


async def check_nodes(tx: Stores, defaults: Limits, organization_id: str) -> None:
    """Raise if the node added in this transaction exceeds the quota.

    A deleted node's data is kept for a week. Creating and deleting nodes all
    the time would fill the disk, so the number of deleted nodes whose data is
    kept is limited as well.
    """
    allowed = await limit(tx, defaults, organization_id, Quota.NODES)
    found = await tx.quotas.nodes(organization_id)
    quotas.check(Quota.NODES, used=found.existing - 1, limit=allowed)
    if found.stored > allowed * KEPT_NODES:
        when = f" at {to_iso(found.next_gone)}" if found.next_gone else ""
        raise OverQuota(
            f"quota: your organization has {allowed * KEPT_NODES:,} nodes, including "
            "deleted nodes that can still be restored; the next deleted node "
            f"expires{when}: wait, or ask the operator to raise the limit"
        )


async def reserve_slot(
    database: Database,
    defaults: Limits,
    organization_id: str,
    order_id: str,
    *,
    lives: timedelta,
    now: datetime,
) -> None:
    """Reserve a place for an unpaid order before its invoice, or raise.

    The place belongs to the order: a second call finds it reserved. Each order
    takes an invoice and an address, even if it is cancelled at once. So raise
    TooMany, with the time to wait, if many orders were cancelled unpaid lately.
    """
    async with database.transaction() as tx:
        await tx.accounts.lock(organization_id)
        allowed = await limit(tx, defaults, organization_id, Quota.UNPAID_ORDERS)
        used = await tx.quotas.unpaid_orders(organization_id, but=order_id, now=now)
        quotas.check(Quota.UNPAID_ORDERS, used=used, limit=allowed)
        given_up = await tx.quotas.given_up(organization_id, since=now - lives)
        if given_up.first is not None and given_up.orders >= allowed * CANCELLED_ORDERS:
            raise TooMany(
                f"quota: your organization recently cancelled {given_up.orders:,} "
                "unpaid orders; wait before you order again, or ask the operator to "
                "raise the limit of unpaid orders",
                retry_after_s=_wait_s(given_up.first + lives, now),
            )
        await tx.quotas.reserve_slot(
            organization_id, order_id, now=now, until=now + _SLOT_LASTS
        )


async def check_unpaid(
    tx: Stores, defaults: Limits, organization_id: str, *, now: datetime
) -> None:
    """Raise if the unpaid order added without a place exceeds the quota."""
    used = await tx.quotas.unpaid_orders(organization_id, now=now) - 1
    await check(tx, defaults, organization_id, Quota.UNPAID_ORDERS, used=used)


async def release_slot(database: Database, order_id: str) -> None:
    """Release the place of an order that could not be created."""
    async with database.transaction() as tx:
        await tx.quotas.release_slot(order_id)


async def check_replaced(tx: Stores, defaults: Limits, organization_id: str) -> None:
    """Raise if the history of replaced backups exceeds the quota.

    Replacing is refused rather than the oldest backup deleted: the history is
    for owners who notice late that a backup was replaced by something else.
    """
    allowed = await limit(tx, defaults, organization_id, Quota.REPLACED_BACKUPS_MB)
    size = await tx.quotas.replaced_bytes(organization_id)
    if size > allowed * MB:
        raise OverQuota(
            quotas.refusal(Quota.REPLACED_BACKUPS_MB, used=allowed, limit=allowed)
        )


async def check_answers(
    tx: Stores, defaults: Limits, organization_id: str, *, now: datetime
) -> None:
    """Raise if an organization uses too many Idempotency-Keys.

    Keys expire by themselves. The organization is not locked: a few keys
    too many do no harm, and every request uses a key.
    """
    quota = Quota.IDEMPOTENCY_KEYS
    allowed = await limit(tx, defaults, organization_id, quota)
    used = await tx.quotas.answers(organization_id, limit=allowed + 1, now=now)
    if used > allowed:
        first = await tx.quotas.first_answer(organization_id, now=now)
        raise TooMany(
            quotas.refusal(quota, used=allowed, limit=allowed),
            retry_after_s=_wait_s(first or now, now),
        )


def _wait_s(until: datetime, now: datetime) -> int:
    return max(1, ceil((until - now).total_seconds()))
