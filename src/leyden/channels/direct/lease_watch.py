"""Watch direct channels until their leases end, and extend those that shall go on.

The platform never closes a channel. If one is closed before its lease has ended, its
buyer gets an event and the operator an alarm. Only the operator can find out who closed
it, and corrects the buyer's balance by hand.
"""

import logging
from datetime import datetime
from typing import Final

from leyden.channels.direct import extensions
from leyden.channels.direct.base import Seller
from leyden.channels.direct.rules.extensions import AUTO_BLOCKS_LEFT
from leyden.channels.direct.rules.openings import ClosedChannel, SellerWallet
from leyden.channels.rows.leases import RunningLease
from leyden.channels.rules.leases import ENDED, ENDING, NOTHING, due_event
from leyden.channels.services import ChannelServices
from leyden.events.rules.events import Data, Event
from leyden.values import replace

log = logging.getLogger(__name__)

_BATCH: Final = 500
_EVENTS: Final = {ENDING: "channel.lease_ending", ENDED: "channel.lease_ended"}
_EXTENDING: Final = "channel.lease_extending"  # instead, where it will go on by itself


async def check(
    channels: ChannelServices, seller: Seller, wallet: SellerWallet
) -> None:
    """Check all direct channels once, and announce changes."""
    reader, after = channels.database.reader.leases, ""
    running = await reader.running(after=after, limit=_BATCH)
    if not running:
        return
    found = await seller.closed()
    closed = {each.point: each for each in found}
    channels_now = extensions.seen(wallet, found)
    while running:
        after = running[-1].order_id
        for lease in running:
            now = channels.clock()
            change = _next_state(lease, closed.get(lease.point), wallet.height, now=now)
            if change is not None:
                await _announce(channels, lease, *change, now=now)
            elif _is_due(lease, wallet.height):
                await extensions.try_automatically(channels, lease, channels_now)
        running = await reader.running(after=after, limit=_BATCH)


async def ended(channels: ChannelServices) -> list[RunningLease]:
    """List leases that have ended although their channels are open, by order id."""
    reader, after = channels.database.reader.leases, ""
    found: list[RunningLease] = []
    while running := await reader.running(after=after, limit=_BATCH):
        after = running[-1].order_id
        found += [lease for lease in running if lease.announced == ENDED]
    return found


def _next_state(
    lease: RunningLease, closed: ClosedChannel | None, height: int, *, now: datetime
) -> tuple[RunningLease, str] | None:
    """Return the changed lease and an event type ("" for none), or None."""
    if closed is not None:
        early = (closed.height or height) < lease.ends
        after = replace(lease, closed=now, closed_early=early)
        return after, "channel.closed_early" if early else ""
    event = due_event(lease.ends, height)
    if event == NOTHING and lease.announced == ENDED:
        # By a release that knew of no extensions: it may not be closed as ended.
        return replace(lease, announced=NOTHING), ""
    if event <= lease.announced:
        return None
    goes_on = event == ENDING and lease.auto_blocks
    after = replace(lease, announced=event)
    return after, _EXTENDING if goes_on else _EVENTS[event]


def _is_due(lease: RunningLease, height: int) -> bool:
    """Return whether a lease shall be extended by itself now, or could not be."""
    if not lease.auto_blocks or height < lease.ends - AUTO_BLOCKS_LEFT:
        return False
    return height < lease.ends or not lease.auto_refused


async def _announce(
    channels: ChannelServices,
    before: RunningLease,
    after: RunningLease,
    kind: str,
    *,
    now: datetime,
) -> None:
    data: Data = {
        "order_id": after.order_id,
        "channel_point": after.point,
        "lease_ends_block": after.ends,
    }
    if kind == _EXTENDING:
        price = await extensions.price_of_automatic(channels, after)
        data = {**data, "lease_duration_blocks": after.auto_blocks, "amount": price}
    async with channels.database.transaction() as tx:
        if not await tx.leases.change(before, after) or not kind:
            return  # another process announced it, or there is nothing to announce
        event = Event(organization_id=after.organization_id, type=kind, data=data)
        tx.events.add(event, at=now)
    if after.closed_early:
        log.warning("a channel was closed before its lease ended", extra=dict(data))
