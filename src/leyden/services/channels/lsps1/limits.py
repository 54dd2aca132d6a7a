"""Limits of unpaid orders over LSPS1: they cost nobody anything but us.

They are counted in the transaction that adds an order, while nobody else reserves
coins, and before its invoice is made, so that a flood makes none.
"""

from collections.abc import Iterable
from typing import Final

from leyden.domain.lsps1 import Source
from leyden.domain.openings import Coin
from leyden.errors import SoldOut, TooMany
from leyden.services.channels.shop import Lsps1Settings, ShopSettings
from leyden.storage.stores import Stores
from leyden.values import Struct

_AGAIN_S: Final = 600


class Orderer(Struct, frozen=True, kw_only=True):
    """Who orders: the node that gets the channel, and where the order came from."""

    source: Source
    peer: str
    address: str = ""  # over HTTP, in the form in which addresses are counted


async def check_orders(
    rows: Stores, rules: ShopSettings, who: Orderer, capacity: int, *, counted: bool
) -> None:
    """Raise TooMany if the node or the address has as many as it may.

    Orders over HTTP prove nothing of the node, so they take no places of those that
    the node itself makes, and half at most of the capacity that it may get from us.
    Where the order's row is there already it is `counted`.
    """
    assert rules.lsps1 is not None  # noqa: S101  there is a sale
    more = 0 if counted else 1
    unpaid, sats = await rows.lsps1_orders.unpaid_of_peer(who.peer, who.source)
    together = sats if counted else sats + capacity
    is_over = unpaid + more > rules.lsps1.orders_per_peer
    if who.source is Source.HTTP and unpaid + more > 1:
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


async def check_coins(
    rows: Stores, rules: Lsps1Settings, more: Iterable[Coin] = ()
) -> None:
    """Raise SoldOut if unpaid orders reserve as many coins as they may."""
    reserved = await rows.lsps1_orders.reserved()
    if reserved + sum(coin.sats for coin in more) > rules.most_reserved:
        raise SoldOut(
            "channels are sold out for now, because too many orders are unpaid; try "
            "again later",
            retry_after_s=_AGAIN_S,
        )
