"""Limits of orders over LSPS1, which cost their clients nothing until a channel opens.

An order reserves coins once its payment is held. A node that pays and is then never
connected gets it back, so the coins of all these orders together are limited.

The limits are checked in the transaction that adds an order or reserves its coins,
while no other process can, and also before its invoice is created, so that a flood
creates none.
"""

from typing import Final

from leyden.base.database.stores import Stores
from leyden.channels.direct import reservations
from leyden.channels.direct.rows.lsps1_orders import Lsps1Order
from leyden.channels.direct.rules.lsps1 import Transport
from leyden.channels.rules.orders import Order
from leyden.channels.services import (
    ChannelServices,
    ChannelSettings,
    Lsps1Settings,
    Reserve,
)
from leyden.errors import TooMany
from leyden.values import Struct

_AGAIN_S: Final = 600


class Orderer(Struct, frozen=True, kw_only=True):
    """The client: the node that gets the channel, and the order's origin."""

    source: Transport
    peer: str
    address: str = ""  # over HTTP, in the form in which addresses are counted


async def check_orders(
    rows: Stores, rules: ChannelSettings, who: Orderer, capacity: int, *, counted: bool
) -> None:
    """Raise TooMany if the node or the address has reached its limit of unpaid orders.

    Over HTTP the node is not authenticated, so these orders do not count towards the
    node's own limit, and get at most half of its capacity. `counted` means that the
    order's row is already stored.
    """
    assert rules.lsps1 is not None  # noqa: S101  there is a sale
    more = 0 if counted else 1
    unpaid, sats = await rows.lsps1_orders.unpaid_of_peer(who.peer, who.source)
    together = sats if counted else sats + capacity
    is_over = unpaid + more > rules.lsps1.orders_per_peer
    if who.source is Transport.HTTP and unpaid + more > 1:
        is_over = is_over or together > rules.seller_most_per_peer // 2
    if is_over:
        raise TooMany(
            "this node has too many unpaid orders; pay one, or wait until they expire",
            retry_after_s=_AGAIN_S,
        )
    if not who.address:
        return
    unpaid = await rows.lsps1_orders.unpaid_of_address(who.address)
    if unpaid + more > rules.lsps1.orders_per_address:
        raise TooMany(
            "your IP address has too many unpaid orders; pay one, or wait until they "
            "expire",
            retry_after_s=_AGAIN_S,
        )


async def prepare(
    channels: ChannelServices,
    rules: Lsps1Settings,
    who: Orderer,
    details: Lsps1Order,
    order: Order,
) -> Reserve:
    """Check the limits and choose coins; raise SoldOut if there are none.

    The order reserves none of them until it is paid.
    """
    reader, capacity = channels.database.reader, order.quote.channel.capacity
    await check_orders(reader, channels.rules, who, capacity, counted=False)
    found = await reservations.prepare(channels, "", order.quote, now=order.created)
    await reservations.check_coins(reader, rules, found.coins)

    async def reserve(tx: Stores, order: Order) -> None:
        """Store what only such an order has, and check the limits once more."""
        now = order.created
        await reservations.reserve(tx, channels, order, found, whose="", now=now)
        await tx.lsps1_orders.add(details)
        # The seller's row is locked now, so counts can't change meanwhile.
        await check_orders(tx, channels.rules, who, capacity, counted=True)
        await reservations.check_coins(tx, rules, found.coins)

    return reserve
