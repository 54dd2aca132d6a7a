"""Reservations: the seller's coins for an order, within the operator's limits.

Each order gets coins of its own, and its channel is opened from these and no others. So
no coin is reserved for two orders, and however often an opening is requested, at most
one funding transaction of the order can confirm.

An order that is not paid yet costs nothing. So unpaid orders of one organization hold
at most a third of what is for sale, and strangers' hold nothing. The others get their
coins once they are paid (opening.py), if there are any left.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.units import Sats
from leyden.channels.direct.rows.seller import KnownSeller
from leyden.channels.direct.rules.openings import Coin, SellerWallet
from leyden.channels.rules.orders import Order
from leyden.channels.rules.payments import Outpoint
from leyden.channels.rules.pricing import (
    Channel,
    ChannelKind,
    Quote,
    funding_vbytes,
)
from leyden.channels.services import ChannelServices, Lsps1Settings
from leyden.errors import Conflict, SellerAway, SoldOut, Stale
from leyden.values import Struct

HOUR: Final = timedelta(hours=1)
# lnd reserves this to bump the closing of channels: with less it opens none.
_ANCHOR_RESERVE: Final = 100_000
_MAX_INPUTS: Final = 5
_SOLD_OUT_S: Final = 600
_SHARE: Final = 3  # unpaid orders of an organization hold this part of what is for sale


class Reservation(Struct, frozen=True, kw_only=True):
    """The coins for an order, and the seller that has them."""

    coins: tuple[Coin, ...]
    seller: KnownSeller
    for_sale: tuple[Coin, ...]  # all coins, also those that other orders hold


async def prepare(
    channels: ChannelServices, whose: str, quote: Quote, *, now: datetime
) -> Reservation:
    """Choose coins for an order; raise SoldOut if there are none, or SellerAway.

    The limits are checked here too, so that no useless invoice is created. `whose` is
    the organization, which may have one open order for a node; with "" only paid orders
    count, of all organizations.
    """
    await _check_limits(
        channels.database.reader, channels, quote.channel, whose=whose, now=now
    )
    wallet = await read_wallet(channels)
    reserved = await channels.database.reader.reserved_coins.all_()
    coins = choose(wallet, reserved, quote)
    if not coins:
        raise SoldOut(retry_after_s=_SOLD_OUT_S)
    return Reservation(
        coins=coins,
        seller=KnownSeller(pubkey=wallet.pubkey, uri=wallet.uri),
        for_sale=wallet.coins,
    )


async def seller_uri(rows: Stores) -> str:
    """Return the address for buyers' nodes to connect to the seller; "" if unknown."""
    known = await rows.seller.find()
    return known.uri if known is not None else ""


async def read_wallet(channels: ChannelServices) -> SellerWallet:
    """Return the seller's wallet; raise SellerAway if we can't sell from it."""
    if channels.seller is None:
        raise SellerAway("this platform sells no direct channels", retry_after_s=3600)
    wallet = await channels.seller.wallet()
    known = await channels.database.reader.seller.find()
    named = channels.rules.seller
    treasury = await channels.database.reader.treasury.find()
    if treasury is not None and wallet.pubkey == treasury.pubkey:
        raise SellerAway(
            why="seller_host: this lnd is the treasury; the seller needs its own"
        )
    expected = named or (known.pubkey if known else wallet.pubkey)
    if wallet.pubkey != expected:
        raise SellerAway(
            why=(
                f"the seller is a different lnd ({wallet.pubkey}) than before "
                f"({expected}); if you changed it on purpose, set seller_pubkey"
            )
        )
    if not wallet.synced:
        raise SellerAway(why="the seller is not synced with its chain")
    return wallet


async def uris(rows: Stores, orders: Iterable[Order]) -> dict[str, str]:
    """Return where the nodes of direct orders connect to, by order id."""
    direct = [each for each in orders if each.kind is ChannelKind.DIRECT]
    if not direct:
        return {}
    bought = [each.id for each in direct if each.quote.source]
    purchases = await rows.purchases.of_orders(bought) if bought else {}
    own = await seller_uri(rows)
    return {
        each.id: purchases[each.id].uri if each.id in purchases else own
        for each in direct
    }


def choose(
    wallet: SellerWallet, reserved: set[Outpoint], quote: Quote
) -> tuple[Coin, ...]:
    """Return coins for an order's channel; or none."""
    return choose_for(
        wallet, reserved, quote.channel.capacity, quote.highest_fee_sat_per_vb
    )


def choose_for(
    wallet: SellerWallet, reserved: set[Outpoint], capacity: Sats, sat_per_vb: int
) -> tuple[Coin, ...]:
    """Return coins for a channel: the smallest that suffices, else a few; or none."""

    def needed(inputs: int) -> int:
        return capacity + sat_per_vb * funding_vbytes(inputs)

    free = sorted(each for each in wallet.coins if each.outpoint not in reserved)
    if _sum(free) < needed(1) + _ANCHOR_RESERVE:
        return ()
    for each in free:
        if each.sats >= needed(1):
            return (each,)
    chosen: list[Coin] = []
    for each in reversed(free[-_MAX_INPUTS:]):
        chosen.append(each)
        if _sum(chosen) >= needed(len(chosen)):
            return tuple(chosen)
    return ()


async def reserve(
    tx: Stores,
    channels: ChannelServices,
    order: Order,
    reservation: Reservation,
    *,
    whose: str,
    now: datetime,
) -> None:
    """Reserve the coins in the order's own transaction, if the limits allow it.

    An unpaid order beyond its organization's share reserves nothing yet, nor does one
    of nobody's (`whose` is "").
    """
    if (known := await tx.seller.find()) is None:
        await tx.seller.add(reservation.seller)
    elif known != reservation.seller:
        await tx.seller.replace(reservation.seller)
    await tx.seller.lock()
    await _check_limits(
        tx, channels, order.quote.channel, whose=whose, order_id=order.id, now=now
    )
    if not order.to_be_paid or (
        whose and await _is_within_share(tx, channels, order, reservation)
    ):
        await _add(tx, order, reservation.coins)


async def reserve_paid(
    tx: Stores,
    channels: ChannelServices,
    order: Order,
    coins: tuple[Coin, ...],
    *,
    now: datetime,
) -> None:
    """Reserve coins for an order that had none until it was paid, or raise SoldOut."""
    await tx.seller.lock()
    if channels.rules.lsps1 and await tx.lsps1_orders.find(order.id):
        await check_coins(tx, channels.rules.lsps1, coins)
    await _check_hour(tx, channels, order.quote.channel, order_id=order.id, now=now)
    await _add(tx, order, coins)


async def check_coins(rows: Stores, rules: Lsps1Settings, more: Iterable[Coin]) -> None:
    """Raise SoldOut if LSPS1 orders without a channel reserve too much, with these."""
    reserved = await rows.lsps1_orders.reserved()
    if reserved + _sum(more) > rules.most_reserved:
        raise SoldOut(
            "channels are sold out for now, because too many orders have no channel "
            "yet; try again later",
            retry_after_s=_SOLD_OUT_S,
        )


async def _add(tx: Stores, order: Order, coins: tuple[Coin, ...]) -> None:
    if not await tx.reserved_coins.add(order.id, coins):
        raise Stale("another order reserved the coin in the meantime")
    # Read after that: a filled order releases its coins, which its channel has spent.
    spent = await tx.fundings.spent()
    if any(coin.outpoint in spent for coin in coins):
        raise Stale("another order's channel spent the coin in the meantime")


async def _is_within_share(
    tx: Stores, channels: ChannelServices, order: Order, reservation: Reservation
) -> bool:
    """Return whether the organization's unpaid orders hold a third at most, with it."""
    held = await tx.reserved_coins.of_unpaid(order.organization_id)
    ordered = await tx.orders.capacity_held_unpaid(order.organization_id)
    coins, for_sale = (*held, *reservation.coins), reservation.for_sale
    return all(
        part * _SHARE <= total
        for part, total in (
            (len(coins), len(for_sale)),
            (_sum(coins), _sum(for_sale)),
            (
                ordered + order.quote.channel.capacity,
                channels.rules.seller_most_per_hour,
            ),
        )
    )


def _sum(coins: Iterable[Coin]) -> int:
    return sum(coin.sats for coin in coins)


async def _check_limits(
    rows: Stores,
    channels: ChannelServices,
    channel: Channel,
    *,
    whose: str,
    order_id: str = "",
    now: datetime,
) -> None:
    """Check all limits for an order, whether its row is already stored or not."""
    rules, peer = channels.rules, channel.node_key
    await _check_hour(rows, channels, channel, order_id=order_id, now=now)
    others = await rows.orders.capacity_ordered_to(peer, but=order_id)
    if others + channel.capacity > rules.seller_most_per_peer:
        raise Conflict(
            "node: has reached the maximum capacity per node "
            f"({rules.seller_most_per_peer:,} sat, with this order)"
        )
    if await rows.orders.is_open_to(peer, whose, but=order_id):
        raise Conflict(
            "node: has another open order; wait until that order ends, or cancel it"
        )


async def _check_hour(
    rows: Stores,
    channels: ChannelServices,
    channel: Channel,
    *,
    order_id: str,
    now: datetime,
) -> None:
    others = await rows.orders.capacity_ordered_since(now - HOUR, but=order_id)
    if others + channel.capacity > channels.rules.seller_most_per_hour:
        raise SoldOut(retry_after_s=_SOLD_OUT_S)
