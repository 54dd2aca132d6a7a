"""Operators' views of the installation, and of each organization."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from leyden.backups import results as backup_results
from leyden.backups.results import ShownResult
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import to_iso
from leyden.base.rules.units import Sats
from leyden.channels import sources
from leyden.channels.books.broken_rules import Broken
from leyden.channels.books.verify import verify
from leyden.channels.money import credit
from leyden.channels.money.credit import Balance
from leyden.channels.rows.treasury_checks import TreasuryCheck
from leyden.channels.rules.ledger import OPERATORS
from leyden.channels.rules.sources import Source
from leyden.operators import node_alarms
from leyden.operators.rows.alarms import RaisedAlarm
from leyden.operators.rows.counts import FailingNode, FailingTask, QueueCount
from leyden.values import Struct

# Workers check every minute.
_CHECKED_WITHIN: Final = timedelta(minutes=3)
_MAX_TRIED: Final = 20
_MAX_AILING: Final = 200


class Overview(Struct, frozen=True, kw_only=True):
    """The status of the installation."""

    nodes: dict[str, int]
    orders: dict[str, int]
    queues: list[QueueCount]
    tried: list[FailingTask]  # failing jobs
    alarms: list[RaisedAlarm]  # as the worker that checks them found them last
    not_checked: str  # why the alarms may be out of date; "" if they are not
    checked_at: datetime | None
    balances: dict[str, Sats]  # of the platform's own accounts
    backups: list[ShownResult]  # empty without a backup store
    without_backups: str  # what to do about that; "" if backups are made
    sources: tuple[Source, ...] = ()  # of channels; empty if none are sold
    treasury_check: TreasuryCheck | None = None  # the last one


class Patient(Struct, frozen=True):
    """A node that needs attention."""

    node: FailingNode
    why: str  # why it could not be started or observed, or ended, if known


class OrganizationOverview(Struct, frozen=True, kw_only=True):
    """An organization with its balance and limit."""

    organization: Organization
    balance: Balance
    most_owed: Sats | None  # None: it has no corporate account


async def overview(platform: Platform, *, now: datetime) -> Overview:
    """Return the status of the installation, with the alarms that are raised."""
    counts = platform.database.reader.counts
    nodes, orders, queues = (
        await counts.nodes(),
        await counts.orders(),
        await counts.tasks(),
    )
    reader = platform.database.reader
    checked_at, alarms = await reader.alarms.checked_at(), await reader.alarms.list_()
    ledger = reader.ledger
    return Overview(
        nodes=nodes,
        orders=orders,
        queues=queues,
        tried=await counts.tried(limit=_MAX_TRIED),
        alarms=alarms,
        not_checked=not_checked(checked_at, now=now),
        checked_at=checked_at,
        balances=await ledger.sums_of(OPERATORS),
        backups=await backup_results.listed(platform),
        without_backups=backup_results.missing(platform.settings),
        sources=sources.all_sold(platform.channels) if platform.channels else (),
        treasury_check=await platform.database.reader.treasury_checks.find(),
    )


def not_checked(checked_at: datetime | None, *, now: datetime) -> str:
    """Return why the alarms may be out of date; "" if they were checked just now."""
    if checked_at is None:
        return (
            "nobody has checked for alarms yet: a running worker does, a minute after "
            "its start"
        )
    if now - checked_at <= _CHECKED_WITHIN:
        return ""
    return (
        f"nobody has checked for alarms since {to_iso(checked_at)}: no worker runs, or "
        "its log says what keeps it from checking"
    )


async def ailing(platform: Platform) -> list[Patient]:
    """List the nodes that need attention, the worst first, and why."""
    found = await platform.database.reader.counts.ailing(
        limit=_MAX_AILING, now=platform.clock()
    )
    return [Patient(node, node_alarms.why(node)) for node in found]


async def account(platform: Platform, organization_id: str) -> OrganizationOverview:
    """Return an organization with its money; raise NotFound if missing."""
    reader = platform.database.reader
    return OrganizationOverview(
        organization=await reader.accounts.get(organization_id),
        balance=await credit.balance(platform.database, organization_id),
        most_owed=await reader.corporate_accounts.limit(organization_id),
    )


async def violations(platform: Platform) -> list[Broken]:
    """Check every rule except the treasury's; return the violations."""
    return await verify(platform.database, nodes_at=nodes_of(platform))


def nodes_of(platform: Platform) -> Path:
    """Return the folder of this machine's nodes."""
    return platform.settings.home_path / "nodes"
