"""The channels that filled orders became, as their buyers see them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from leyden.domain.orders import Order, Status
from leyden.domain.tickets import Lease
from leyden.domain.units import BLOCKS_PER_DAY, Sats
from leyden.storage.stores import Stores
from leyden.values import Struct

_BLOCK: Final = timedelta(days=1) / BLOCKS_PER_DAY


class LeasedChannel(Struct, frozen=True, kw_only=True):
    """The channel of a filled order."""

    point: str  # txid:output
    node: str  # public key of the node that has the channel; "" is not known
    peer: str  # ... and of the seller's
    since: datetime
    ends: datetime  # as far as blocks take ten minutes
    ends_at: int  # the block at which its lease ends, give or take some; 0: not known
    unused_fee: Sats  # what the auction left of its share, and the buyer got back


async def find(rows: Stores, orders: Iterable[Order]) -> dict[str, LeasedChannel]:
    """Return the channels of those of these orders that are filled, by order id."""
    filled = {each.id: each for each in orders if each.status is Status.FILLED}
    if not filled:
        return {}
    booked = await rows.leases.booked(filled)
    return {
        order_id: _of(filled[order_id], lease, at)
        for order_id, (lease, at) in booked.items()
    }


def _of(order: Order, lease: Lease, at: datetime) -> LeasedChannel:
    blocks = order.quote.channel.lease_duration_blocks
    return LeasedChannel(
        point=lease.channel_point,
        node=lease.node,
        peer=lease.peer,
        since=at,
        ends=at + blocks * _BLOCK,
        ends_at=lease.height + blocks if lease.height else 0,
        unused_fee=order.unused_fee(lease),
    )
