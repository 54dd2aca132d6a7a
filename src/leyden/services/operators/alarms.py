"""The alarms: problems that an operator must solve, each with what to do about it."""

import asyncio
import shutil
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from leyden.domain.alarms import Kind
from leyden.domain.units import BLOCKS_PER_DAY, size
from leyden.errors import (
    MarketAway,
    MarketRefused,
    SellerAway,
    TorAway,
    TreasuryAway,
)
from leyden.services.channels import pool_account, seller_balance, treasury_identity
from leyden.services.channels.shop import Shop
from leyden.services.deliveries.emailing import FAILING
from leyden.services.nodes import (
    certificate_expiry,
    peer_addresses,
    relocations,
    routes,
)
from leyden.services.nodes.fleet import ROUTES, Fleet
from leyden.services.operators import node_alarms
from leyden.services.operators.attention import LATE, needing_attention
from leyden.services.operators.backups import results
from leyden.services.platform import Platform
from leyden.storage.counts import Queue
from leyden.values import Struct

_MANY_ATTEMPTS: Final = 10  # a task with as many counts as failing
_ANSWERS_WITHIN_S: Final = 5.0
_LEAST_FREE: Final = 2 << 30


class Alarm(Struct, frozen=True):
    """Something that an operator has to look after."""

    kind: Kind
    what: str

    def __str__(self) -> str:
        """Return the alarm as one line."""
        return self.what


async def list_alarms(platform: Platform, *, now: datetime) -> list[Alarm]:
    """List the alarms, except the ledger's: `verify` reads every entry for those."""
    counts = platform.database.reader.counts
    queues = await counts.tasks()
    found = _queues(queues, now)
    for node in await node_alarms.list_(platform.database.reader, now=now):
        found.append(Alarm(node.kind, node.what))
    stuck = Counter(each.why for each in await needing_attention(platform, now=now))
    for why, number in stuck.items():
        orders = "1 order needs" if number == 1 else f"{number} orders need"
        found.append(Alarm(Kind.ORDER_STUCK, f"{orders} attention: {why}"))
    found += await _reversed(platform)
    if platform.shop is not None:
        found += await _treasury(platform.shop)
        found += await _auction(platform.shop)
        found += await _seller(platform.shop)
    if platform.fleet is not None:
        for each in await certificate_expiry.ending(platform.fleet):
            what = f"the certificate of {each.what} expires {each.until:%Y-%m-%d}"
            found.append(Alarm(Kind.CERTIFICATE_EXPIRING, what))
        rows, rules = platform.database.reader, platform.fleet.rules
        for what in await relocations.alarms(rows):
            found.append(Alarm(Kind.MOVE_STUCK, what))
        if what := await peer_addresses.alarm(rows, rules, now=now):
            found.append(Alarm(Kind.PEER_PORTS_LOW, what))
        if any(each.kind == ROUTES and each.most_attempts for each in queues):
            found += await _peer_ports(platform.fleet)
        found += await _tor(platform.fleet)
    found += await _emails(platform)
    for what in await results.alarms(platform, now=now):
        found.append(Alarm(Kind.BACKUP_STALE, what))
    found += await asyncio.to_thread(disk, platform.settings.home_path)
    return found


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
    return [Alarm(Kind.DISK_LOW, what)]


def _queues(queues: Sequence[Queue], now: datetime) -> list[Alarm]:
    found = []
    for queue in queues:
        if now - queue.next_due > LATE:
            what = f"{queue.kind}: has not run for a while"
        elif queue.most_attempts >= _MANY_ATTEMPTS:
            what = f"{queue.kind}: failed {queue.most_attempts} times"
        else:
            continue
        found.append(Alarm(Kind.QUEUE_LAGGING, what))
    return found


async def _reversed(platform: Platform) -> list[Alarm]:
    """Return an alarm about reversed payments that the buyers have not repaid."""
    owing = await platform.database.reader.ledger.receivables()
    if not owing:
        return []
    first, others = next(iter(owing)), len(owing) - 1
    whose = f"of {first}" + (f" and {others} more" if others else "")
    what = (
        f"a chain reorganization removed {sum(owing.values()):,} sat that were already "
        f"spent, {whose}: their next payment, or `leyden account correct`, repays the "
        "debt"
    )
    return [Alarm(Kind.PAYMENT_REVERSED, what)]


async def _emails(platform: Platform) -> list[Alarm]:
    if not platform.settings.smtp_host:
        return []
    waiting = await platform.database.reader.emails.failing(attempts=FAILING)
    if not waiting:
        return []
    emails = "1 email" if waiting == 1 else f"{waiting} emails"
    what = f"the mail server rejects {emails}: `leyden mail test` shows why"
    return [Alarm(Kind.EMAIL_AWAY, what)]


async def _treasury(shop: Shop) -> list[Alarm]:
    found = []
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            await shop.payments.identity()
    except (TreasuryAway, TimeoutError):
        what = "the treasury does not respond: customers can't order or pay"
        found.append(Alarm(Kind.TREASURY_AWAY, what))
    if what := await treasury_identity.alarm(shop.database):
        found.append(Alarm(Kind.TREASURY_REPLACED, what))
    return found


async def _seller(shop: Shop) -> list[Alarm]:
    if shop.seller is None:
        return []
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            balance = await seller_balance.read(shop)
    except SellerAway as error:
        return [
            Alarm(Kind.SELLER_AWAY, f"customers can't order direct channels: {error}")
        ]
    except TimeoutError:
        what = "the seller does not respond: customers can't order direct channels"
        return [Alarm(Kind.SELLER_AWAY, what)]
    what = seller_balance.alarm(balance, low=shop.rules.seller_low)
    return [Alarm(Kind.SELLER_LOW, what)] if what else []


async def _peer_ports(fleet: Fleet) -> list[Alarm]:
    """Return which nodes' peer ports another program has."""
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            blocked = await routes.blocked(fleet)
    except TimeoutError:
        return []
    if not blocked:
        return []
    (node_id, port), *others = sorted(blocked.items())
    more = f" (and those of {len(others)} more)" if others else ""
    what = (
        f"another program has port {port} of node {node_id}{more}: peers can't connect "
        "until you stop that program"
    )
    return [Alarm(Kind.PEER_PORTS_TAKEN, what)]


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
    return [Alarm(Kind.TOR_AWAY, said)] if what else []


async def _auction(shop: Shop) -> list[Alarm]:
    if shop.account is None:
        return []
    rules = shop.rules.upkeep
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            standing = await pool_account.read(shop.account, shop.database)
    except (MarketAway, MarketRefused, TimeoutError):
        what = "the auction does not respond: customers can't order channels"
        return [Alarm(Kind.MARKET_AWAY, what)]
    found = []
    if what := standing.alarm(low=rules.low):
        found.append(Alarm(Kind.POOL_LOW, what))
    # It is renewed automatically a day earlier: the alarm means that this failed.
    if standing.blocks_left < rules.renew_before_blocks - BLOCKS_PER_DAY:
        what = (
            f"the Pool account expires in {standing.blocks_left} blocks and was not "
            "renewed: `leyden pool renew`"
        )
        found.append(Alarm(Kind.POOL_EXPIRING, what))
    return found
