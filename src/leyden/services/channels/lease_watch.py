"""Watching direct channels for as long as they were promised to stay open.

No program of ours closes a channel. One that is closed before its lease has ended is
told to its buyer and to the operator, who alone can see whose doing it was: credit for
it is given by hand.
"""

import logging
from datetime import datetime
from typing import Final

from leyden.domain.events import Data, Event
from leyden.domain.openings import ClosedChannel, SellerWallet
from leyden.domain.units import BLOCKS_PER_WEEK
from leyden.sellers.base import Seller
from leyden.services.channels.shop import Shop
from leyden.storage.leases import RunningLease
from leyden.storage.stores import Stores
from leyden.values import replace

log = logging.getLogger(__name__)

_BATCH: Final = 500
_NOTHING, _ENDING, _ENDED = 0, 1, 2  # what was told of a lease


async def look(shop: Shop, seller: Seller, wallet: SellerWallet) -> None:
    """Look at all direct channels once, and tell what is new."""
    reader, after = shop.database.reader.leases, ""
    running = await reader.running(after=after, most=_BATCH)
    if not running:
        return
    closed = {each.point: each for each in await seller.closed()}
    while running:
        after = running[-1].order_id
        for lease in running:
            now = shop.clock()
            news = _news(lease, closed.get(lease.point), wallet.height, now=now)
            if news is not None:
                async with shop.database.transaction() as tx:
                    await _tell(tx, lease, *news, now=now)
        running = await reader.running(after=after, most=_BATCH)


def _news(
    lease: RunningLease, closed: ClosedChannel | None, height: int, *, now: datetime
) -> tuple[RunningLease, str] | None:
    """Return the lease as it is now, and the type of event; "" is none."""
    if closed is not None:
        early = (closed.height or height) < lease.ends
        after = replace(lease, closed=now, closed_early=early)
        return after, "channel.closed_early" if early else ""
    if height >= lease.ends and lease.told < _ENDED:
        return replace(lease, told=_ENDED), "channel.lease_ended"
    if height >= lease.ends - BLOCKS_PER_WEEK and lease.told < _ENDING:
        return replace(lease, told=_ENDING), "channel.lease_ending"
    return None


async def _tell(
    tx: Stores, before: RunningLease, after: RunningLease, kind: str, *, now: datetime
) -> None:
    if not await tx.leases.change(before, after) or not kind:
        return  # another process told of it
    data: Data = {
        "order_id": after.order_id,
        "channel_point": after.point,
        "lease_ends_block": after.ends,
    }
    event = Event(organization_id=after.organization_id, type=kind, data=data)
    tx.events.add(event, at=now)
    if after.closed_early:
        log.warning("a channel was closed before its lease ended", extra=dict(data))
