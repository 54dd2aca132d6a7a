"""The channels of filled orders, as their buyers see them."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.units import BLOCKS_PER_DAY, Sats
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.values import Struct

_BLOCK: Final = timedelta(days=1) / BLOCKS_PER_DAY


class LeasedChannel(Struct, frozen=True, kw_only=True):
    """The channel of a filled order."""

    point: str  # txid:output
    node: str  # public key of the node that has the channel; "" is unknown
    peer: str  # the same of the seller's node
    since: datetime
    ends: datetime  # an estimate, at ten minutes per block
    ends_at: int  # the block at which its lease ends, roughly; 0 is unknown
    unused_fee: Sats  # the unused part of the auction's share that the buyer got back
    # Whether its lease is extended by itself: for how many blocks, up to which price.
    auto_blocks: int = 0
    auto_most: Sats = Sats(0)


class NamedNode(Struct, frozen=True, kw_only=True):
    """The organization's own node that gets a channel."""

    id: str
    name: str


async def nodes_of(
    rows: Stores,
    organization_id: str,
    orders: Iterable[Order],
    leased: Mapping[str, LeasedChannel],
) -> dict[str, NamedNode]:
    """Return the organization's nodes that get these channels, by order id."""
    ids = {each.id: each.quote.channel.node_id for each in orders}
    keys = {order_id: channel.node for order_id, channel in leased.items()}
    by_key = await rows.node_keys.with_keys(organization_id, set(keys.values()))
    found = {
        order_id: node_id or by_key.get(keys.get(order_id, ""), "")
        for order_id, node_id in ids.items()
    }
    names = await rows.nodes.names(organization_id, set(found.values()) - {""})
    return {
        order_id: NamedNode(id=node_id, name=names[node_id])
        for order_id, node_id in found.items()
        if node_id in names
    }


async def find(rows: Stores, orders: Iterable[Order]) -> dict[str, LeasedChannel]:
    """Return the channels of the filled ones among these orders, by order id."""
    filled = {each.id: each for each in orders if each.status is OrderStatus.FILLED}
    if not filled:
        return {}
    booked = await rows.leases.booked(filled)
    return {
        order_id: _of(filled[order_id], lease, at)
        for order_id, (lease, at) in booked.items()
    }


def _of(order: Order, lease: Lease, at: datetime) -> LeasedChannel:
    blocks = order.quote.channel.lease_duration_blocks + lease.extended
    return LeasedChannel(
        point=lease.channel_point,
        node=lease.node,
        peer=lease.peer,
        since=at,
        ends=at + blocks * _BLOCK,
        ends_at=lease.height + blocks if lease.height else 0,
        unused_fee=order.unused_fee(lease),
        auto_blocks=lease.auto_blocks,
        auto_most=lease.auto_most,
    )
