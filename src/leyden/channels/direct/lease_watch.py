"""Watch direct channels until their leases end.

The platform never closes a channel. If one is closed before its lease has ended, its
buyer gets an event and the operator an alarm. Only the operator can find out who closed
it, and corrects the buyer's balance by hand.
"""

import logging
from datetime import datetime
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.units import BLOCKS_PER_WEEK
from leyden.channels.direct.base import Seller
from leyden.channels.direct.rules.openings import ClosedChannel, SellerWallet
from leyden.channels.rows.leases import RunningLease
from leyden.channels.services import ChannelServices
from leyden.events.rules.events import Data, Event
from leyden.values import replace

log = logging.getLogger(__name__)

_BATCH: Final = 500
_NOTHING, _ENDING, _ENDED = 0, 1, 2  # the last event announced for a lease


async def check(
    channels: ChannelServices, seller: Seller, wallet: SellerWallet
) -> None:
    """Check all direct channels once, and announce changes."""
    reader, after = channels.database.reader.leases, ""
    running = await reader.running(after=after, limit=_BATCH)
    if not running:
        return
    closed = {each.point: each for each in await seller.closed()}
    while running:
        after = running[-1].order_id
        for lease in running:
            now = channels.clock()
            change = _next_state(lease, closed.get(lease.point), wallet.height, now=now)
            if change is not None:
                async with channels.database.transaction() as tx:
                    await _announce(tx, lease, *change, now=now)
        running = await reader.running(after=after, limit=_BATCH)


async def ended(channels: ChannelServices) -> list[RunningLease]:
    """List leases that have ended although their channels are open, by order id."""
    reader, after = channels.database.reader.leases, ""
    found: list[RunningLease] = []
    while running := await reader.running(after=after, limit=_BATCH):
        after = running[-1].order_id
        found += [lease for lease in running if lease.announced == _ENDED]
    return found


def _next_state(
    lease: RunningLease, closed: ClosedChannel | None, height: int, *, now: datetime
) -> tuple[RunningLease, str] | None:
    """Return the changed lease and an event type ("" for none), or None."""
    if closed is not None:
        early = (closed.height or height) < lease.ends
        after = replace(lease, closed=now, closed_early=early)
        return after, "channel.closed_early" if early else ""
    if height >= lease.ends and lease.announced < _ENDED:
        return replace(lease, announced=_ENDED), "channel.lease_ended"
    if height >= lease.ends - BLOCKS_PER_WEEK and lease.announced < _ENDING:
        return replace(lease, announced=_ENDING), "channel.lease_ending"
    return None


async def _announce(
    tx: Stores, before: RunningLease, after: RunningLease, kind: str, *, now: datetime
) -> None:
    if not await tx.leases.change(before, after) or not kind:
        return  # another process announced it, or there is nothing to announce
    data: Data = {
        "order_id": after.order_id,
        "channel_point": after.point,
        "lease_ends_block": after.ends,
    }
    event = Event(organization_id=after.organization_id, type=kind, data=data)
    tx.events.add(event, at=now)
    if after.closed_early:
        log.warning("a channel was closed before its lease ended", extra=dict(data))
