"""What whoever runs the installation looks at: everybody's, and what needs a person."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from leyden import logs
from leyden.domain.accounts import Organization
from leyden.domain.orders import Order, Status
from leyden.domain.units import Sats
from leyden.errors import MarketAway
from leyden.services import credit, recognition
from leyden.services.credit import Balance
from leyden.services.missing_tickets import list_missing
from leyden.services.platform import Platform
from leyden.services.verify import Broken, verify
from leyden.storage.counts import Queue, Tried
from leyden.values import Struct

log = logs.get()

# A task that was due so long ago is not being done, and one tried so often fails.
_LATE: Final = timedelta(minutes=5)
_OFTEN: Final = 10
_MOST_ORDERS: Final = 200
_MOST_TRIED: Final = 20
_MISSING: Final = "the market has lost its ticket: `leyden pool abandon` ends it"
_STUCK: Final = "its ticket is not made yet"
_FAILED: Final = "its ticket could not be made"


class Overview(Struct, frozen=True, kw_only=True):
    """How the installation does."""

    nodes: dict[str, int]
    orders: dict[str, int]
    queues: list[Queue]
    tried: list[Tried]  # what does not go well
    alarms: list[str]
    balances: dict[str, Sats]  # of places that are nobody's own


class Need(Struct, frozen=True):
    """An order that a person should look at."""

    order: Order
    why: str


class Account(Struct, frozen=True, kw_only=True):
    """An organization, and how it stands."""

    organization: Organization
    balance: Balance
    most_owed: Sats | None  # None: it has no corporate account


async def overview(platform: Platform, *, now: datetime) -> Overview:
    """Say how the installation does, and what is amiss."""
    counts = platform.database.reader.counts
    nodes, orders, queues = (
        await counts.nodes(),
        await counts.orders(),
        await counts.tasks(),
    )
    in_vain = len(await _missing(platform))
    sums = await platform.database.reader.ledger.sums()
    return Overview(
        nodes=nodes,
        orders=orders,
        queues=queues,
        tried=await counts.tried(most=_MOST_TRIED),
        alarms=[
            *filter(None, [await recognition.alarm(platform.database)]),
            *_alarms(nodes, orders, in_vain, queues, now),
        ],
        balances={place: sats for place, sats in sums.items() if ":" not in place},
    )


async def in_need(platform: Platform, *, now: datetime) -> list[Need]:
    """List the orders that a person should look at: no ticket, half-way, or failed."""
    reader = platform.database.reader.orders
    failed = await reader.in_status(Status.FAILED, most=_MOST_ORDERS)
    creating = await reader.in_status(Status.CREATING, most=_MOST_ORDERS)
    stuck = [each for each in creating if each.paid_at and now - each.paid_at > _LATE]
    return [
        *(Need(each, _MISSING) for each in await _missing(platform)),
        *(Need(each, _STUCK) for each in stuck),
        *(Need(each, _FAILED) for each in failed),
    ]


async def _missing(platform: Platform) -> list[Order]:
    """List the orders whose ticket is missing; none while the market is away."""
    if platform.shop is None:
        return []
    try:
        return await list_missing(platform.shop)
    except MarketAway as error:
        log.warning("it is not known whether tickets are missing", why=str(error))
        return []


async def account(platform: Platform, organization_id: str) -> Account:
    """Give an organization with its money; NotFound when there is none such."""
    reader = platform.database.reader
    return Account(
        organization=await reader.accounts.get(organization_id),
        balance=await credit.balance(platform.database, organization_id),
        most_owed=await reader.corporate_accounts.limit(organization_id),
    )


async def proven(platform: Platform) -> list[Broken]:
    """Check every rule of the books; what is broken, if anything is."""
    return await verify(platform.database, nodes_at=nodes_of(platform))


def nodes_of(platform: Platform) -> Path:
    """Say where this machine has its nodes."""
    return platform.settings.home_path / "nodes"


def _alarms(
    nodes: dict[str, int],
    orders: dict[str, int],
    in_vain: int,
    queues: list[Queue],
    now: datetime,
) -> list[str]:
    found = []
    if failed := nodes.get("failed", 0):
        found.append(f"{failed} nodes could not be started")
    if failed := orders.get("failed", 0):
        found.append(f"{failed} orders failed: their ticket could not be made")
    if in_vain:
        found.append(f"{in_vain} orders wait in vain: the market lost their ticket")
    for queue in queues:
        if now - queue.next_due > _LATE:
            found.append(f"{queue.kind}: nothing has been done for a while")
        elif queue.most_attempts >= _OFTEN:
            found.append(f"{queue.kind}: tried {queue.most_attempts} times in vain")
    return found
