"""Operators' views of the installation, and of each organization."""

from datetime import datetime
from pathlib import Path
from typing import Final

from leyden.domain.accounts import Organization
from leyden.domain.ledger import OPERATORS
from leyden.domain.sources import Source
from leyden.domain.units import Sats
from leyden.services.channels import credit, sources
from leyden.services.channels.credit import Balance
from leyden.services.operators import node_alarms
from leyden.services.operators.alarms import Alarm, list_alarms
from leyden.services.operators.backups import results as backup_results
from leyden.services.operators.backups.results import Shown
from leyden.services.operators.broken_rules import Broken
from leyden.services.operators.verify import verify
from leyden.services.platform import Platform
from leyden.storage.counts import FailingNode, FailingTask, Queue
from leyden.values import Struct

_MOST_TRIED: Final = 20
_MOST_AILING: Final = 200


class Overview(Struct, frozen=True, kw_only=True):
    """The status of the installation."""

    nodes: dict[str, int]
    orders: dict[str, int]
    queues: list[Queue]
    tried: list[FailingTask]  # failing jobs
    alarms: list[Alarm]
    balances: dict[str, Sats]  # of the platform's own accounts
    backups: list[Shown]  # empty without a backup store
    sources: tuple[Source, ...] = ()  # of channels; empty if none are sold


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
    """Return the status of the installation, with its alarms."""
    counts = platform.database.reader.counts
    nodes, orders, queues = (
        await counts.nodes(),
        await counts.orders(),
        await counts.tasks(),
    )
    ledger = platform.database.reader.ledger
    return Overview(
        nodes=nodes,
        orders=orders,
        queues=queues,
        tried=await counts.tried(most=_MOST_TRIED),
        alarms=await list_alarms(platform, now=now),
        balances=await ledger.sums_of(OPERATORS),
        backups=await backup_results.listed(platform),
        sources=sources.sold(platform.shop) if platform.shop else (),
    )


async def ailing(platform: Platform) -> list[Patient]:
    """List the nodes that need attention, the worst first, and why."""
    found = await platform.database.reader.counts.ailing(
        most=_MOST_AILING, now=platform.clock()
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
