"""The alarms: problems that an operator must solve, each with what to do about it."""

import asyncio
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from leyden.backups import results
from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.alarms import PURSE, AlarmKind
from leyden.base.rules.units import BLOCKS_PER_DAY, size
from leyden.base.settings import Settings
from leyden.channels import treasury_identity
from leyden.channels.direct import seller_balance
from leyden.channels.direct.jit import purse as purses
from leyden.channels.services import ChannelServices
from leyden.channels.tickets import pool_account
from leyden.errors import (
    MarketAway,
    MarketRefused,
    SellerAway,
    SetupError,
    TorAway,
    TreasuryAway,
)
from leyden.events.emailing import FAILING
from leyden.nodes import (
    certificate_expiry,
    chain_backends,
    peer_addresses,
    relocations,
    routes,
)
from leyden.nodes.fleet import ROUTES, Fleet
from leyden.operators import node_alarms
from leyden.operators.attention import LATE, AttentionItem, needing_attention
from leyden.operators.rows.counts import QueueCount
from leyden.values import Struct

_MANY_ATTEMPTS: Final = 10  # a task with as many counts as failing
_ANSWERS_WITHIN_S: Final = 5.0
_LEAST_FREE: Final = 2 << 30
_FOUND: Final = "found"  # by a job
_KINDS: Final = frozenset(each.value for each in AlarmKind)


class Alarm(Struct, frozen=True):
    """Something that an operator has to look after.

    An alarm is announced when it is raised and when it is cleared. Kind, subject and
    reason tell it from others; its text may change meanwhile.
    """

    kind: AlarmKind
    what: str
    subject: str = ""  # what it is about, like an order's id; empty: the installation
    reason: str = ""  # tells alarms of one kind and subject apart

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from other alarms."""
        return self.kind.value, self.subject, self.reason

    def __str__(self) -> str:
        """Return the alarm as one line."""
        return self.what


async def list_alarms(
    platform: Platform,
    *,
    now: datetime,
    orders: Sequence[AttentionItem] | None = None,
) -> list[Alarm]:
    """List the alarms, except the ledger's: `verify` reads every entry for those.

    `orders` are those that need attention, if they were read already.
    """
    if orders is None:
        orders = await needing_attention(platform, now=now)
    reader = platform.database.reader
    queues = await reader.counts.tasks()
    found = [
        *_queues(queues, now),
        *await _nodes(reader, now=now),
        *_orders(orders),
        *await _findings(reader, now=now),
        *await _reversed(reader),
    ]
    if platform.channels is not None:
        found += await _treasury(platform.channels)
        found += await _auction(platform.channels)
        found += await _seller(platform.channels)
        found += await _purse(platform.channels)
    if platform.fleet is not None:
        found += await _fleet(platform.fleet, queues, now=now)
        found += await _gateway(platform.fleet, platform.settings)
        found += await _chain(platform.fleet)
    found += await _emails(platform)
    what = results.missing(platform.settings)
    if what and platform.settings.mainnet_backend:
        found.append(Alarm(AlarmKind.BACKUP_NONE, what))
    for subject, what in (await results.alarms(platform, now=now)).items():
        found.append(Alarm(AlarmKind.BACKUP_STALE, what, subject))
    found += await asyncio.to_thread(disk, platform.settings.home_path)
    return found


async def _nodes(reader: Stores, *, now: datetime) -> list[Alarm]:
    return [
        Alarm(each.kind, each.what, each.subject, each.reason)
        for each in await node_alarms.list_(reader, now=now)
    ]


def _orders(orders: Sequence[AttentionItem]) -> list[Alarm]:
    return [
        Alarm(
            each.alarm,
            f"order {each.order.id}: {each.why}",
            each.order.id,
            f"{each.reason} {each.obstacle}".rstrip(),
        )
        for each in orders
        if each.alarm is not None
    ]


async def _findings(reader: Stores, *, now: datetime) -> list[Alarm]:
    return [
        Alarm(AlarmKind(kind), what, subject, _FOUND)
        for kind, subject, what in await reader.findings.list_(now=now)
        if kind in _KINDS  # else it is of a newer release
    ]


async def _fleet(
    fleet: Fleet, queues: Sequence[QueueCount], *, now: datetime
) -> list[Alarm]:
    found = []
    for each in await certificate_expiry.ending(fleet):
        what = f"the certificate of {each.what} expires {each.until:%Y-%m-%d}"
        found.append(Alarm(AlarmKind.CERTIFICATE_EXPIRING, what, each.what))
    reader = fleet.database.reader
    for node_id, what in (await relocations.alarms(reader)).items():
        found.append(Alarm(AlarmKind.MOVE_STUCK, what, node_id))
    if what := await peer_addresses.alarm(reader, fleet.rules, now=now):
        found.append(Alarm(AlarmKind.PEER_PORTS_LOW, what))
    if any(each.kind == ROUTES and each.most_attempts for each in queues):
        found += await _peer_ports(fleet)
    return found + await _tor(fleet)


def disk(folder: Path, *, least: int = _LEAST_FREE) -> list[Alarm]:
    """Return an alarm if less than `least` bytes are free; none without the folder."""
    if not folder.exists():
        return []
    free = shutil.disk_usage(folder).free
    if free >= least:
        return []
    what = (
        f"only {size(free)} free on the disk of {folder}: nodes stop when the disk is "
        "full"
    )
    return [Alarm(AlarmKind.DISK_LOW, what, str(folder))]


def _queues(queues: Sequence[QueueCount], now: datetime) -> list[Alarm]:
    found = []
    for queue in queues:
        if now - queue.next_due > LATE:
            what = f"{queue.kind}: has not run for a while"
        elif queue.most_attempts >= _MANY_ATTEMPTS:
            what = f"{queue.kind}: failed {queue.most_attempts} times"
        else:
            continue
        found.append(Alarm(AlarmKind.QUEUE_LAGGING, what, queue.kind))
    return found


async def _reversed(reader: Stores) -> list[Alarm]:
    """Return an alarm for each buyer who has not repaid a reversed payment."""
    found = []
    for organization_id, sats in (await reader.ledger.receivables()).items():
        what = (
            f"a chain reorganization removed {sats:,} sat that were already spent, of "
            f"{organization_id}: their next payment, or `leyden orgs credit correct`, "
            "repays the debt"
        )
        found.append(
            Alarm(AlarmKind.PAYMENT_REVERSED, what, organization_id, str(sats))
        )
    return found


async def _emails(platform: Platform) -> list[Alarm]:
    if not platform.settings.smtp_host:
        return []
    waiting = await platform.database.reader.emails.failing(attempts=FAILING)
    if not waiting:
        return []
    emails = "1 email" if waiting == 1 else f"{waiting} emails"
    what = f"the mail server rejects {emails}: `leyden mail test` shows why"
    return [Alarm(AlarmKind.EMAIL_AWAY, what)]


async def _treasury(channels: ChannelServices) -> list[Alarm]:
    found = []
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            await channels.payments.identity()
    except (TreasuryAway, TimeoutError):
        what = "the treasury does not respond: customers can't order or pay"
        found.append(Alarm(AlarmKind.TREASURY_AWAY, what))
    if what := await treasury_identity.alarm(channels.database):
        found.append(Alarm(AlarmKind.TREASURY_REPLACED, what))
    return found


async def _seller(channels: ChannelServices) -> list[Alarm]:
    if channels.seller is None:
        return []
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            balance = await seller_balance.read(channels)
            unreachable = await seller_balance.unreachable(channels)
    except SellerAway as error:
        return [
            Alarm(
                AlarmKind.SELLER_AWAY, f"customers can't order direct channels: {error}"
            )
        ]
    except TimeoutError:
        what = "the seller does not respond: customers can't order direct channels"
        return [Alarm(AlarmKind.SELLER_AWAY, what)]
    low = seller_balance.alarm(balance, low=channels.rules.seller_low)
    found = {AlarmKind.SELLER_LOW: low, AlarmKind.SELLER_UNREACHABLE: unreachable}
    return [Alarm(kind, what) for kind, what in found.items() if what]


async def _purse(channels: ChannelServices) -> list[Alarm]:
    if channels.purse is None:
        return []
    why = "it does not respond"
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            await purses.read(channels, channels.purse)
    except SellerAway as error:
        why = str(error)
    except TimeoutError:
        pass
    else:
        return []
    what = f"the purse's lnd forwards nothing, and sells no channels: {why}"
    return [Alarm(AlarmKind.SELLER_AWAY, what, PURSE)]


async def _peer_ports(fleet: Fleet) -> list[Alarm]:
    """Return an alarm for each node whose peer port another program has."""
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            blocked = await routes.blocked(fleet)
    except TimeoutError:
        return []
    return [
        Alarm(
            AlarmKind.PEER_PORTS_TAKEN,
            f"another program has port {port} of node {node_id}: peers can't connect "
            "until you stop that program",
            node_id,
        )
        for node_id, port in sorted(blocked.items())
    ]


async def _gateway(fleet: Fleet, settings: Settings) -> list[Alarm]:
    if not settings.gateway_here:
        return []
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            is_up = await fleet.gateway.traffic() is not None
    except TimeoutError:
        is_up = False
    what = "the gateway does not respond: nobody reaches a node; see its envoy.log"
    return [] if is_up else [Alarm(AlarmKind.GATEWAY_AWAY, what)]


async def _chain(fleet: Fleet) -> list[Alarm]:
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            what = await chain_backends.behind(fleet.backends)
    except SetupError as error:
        what = error.message
    except TimeoutError:
        what = "a chain backend does not respond in time"
    return [Alarm(AlarmKind.CHAIN_AWAY, what)] if what else []


async def _tor(fleet: Fleet) -> list[Alarm]:
    """Return an alarm if peers can't reach onion addresses, with the reason."""
    if fleet.tor is None:
        return []
    what = ""
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            if not (await fleet.tor.status()).connected:
                what = "Tor is not connected to its network: see Tor's log"
    except TorAway as error:
        what = error.message
    except TimeoutError:
        what = "tor_control: Tor does not respond in time"
    said = f"peers can't reach nodes over Tor: {what}"
    return [Alarm(AlarmKind.TOR_AWAY, said)] if what else []


async def _auction(channels: ChannelServices) -> list[Alarm]:
    if channels.account is None:
        return []
    rules = channels.rules.upkeep
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            standing = await pool_account.read(channels.account, channels.database)
    except (MarketAway, MarketRefused, TimeoutError):
        what = "the auction does not respond: customers can't order channels"
        return [Alarm(AlarmKind.MARKET_AWAY, what)]
    found = []
    if what := standing.alarm(low=rules.low):
        found.append(Alarm(AlarmKind.POOL_LOW, what))
    # It is renewed automatically a day earlier: the alarm means that this failed.
    if standing.blocks_left < rules.renew_before_blocks - BLOCKS_PER_DAY:
        what = (
            f"the Pool account expires in {standing.blocks_left} blocks and was not "
            "renewed: `leyden pool renew`"
        )
        found.append(Alarm(AlarmKind.POOL_EXPIRING, what))
    return found
