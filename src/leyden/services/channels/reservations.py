"""Reservations: the seller's coins for an unpaid order, within the operator's limits.

Each order gets coins of its own, and its channel is opened from these and no others. So
no coin is reserved for two orders, and however often an opening is requested, at most
one funding transaction of the order can confirm.
"""

from datetime import datetime, timedelta
from typing import Final

from leyden.domain.openings import Coin, SellerWallet
from leyden.domain.orders import Order
from leyden.domain.payments import Outpoint
from leyden.domain.pricing import FUNDING_VBYTES, Channel, Quote
from leyden.errors import Conflict, SellerAway, SoldOut, Stale
from leyden.services.channels.shop import Shop
from leyden.storage.seller import KnownSeller
from leyden.storage.stores import Stores
from leyden.values import Struct

HOUR: Final = timedelta(hours=1)
# lnd reserves this to bump the closing of channels: with less it opens none.
_ANCHOR_RESERVE: Final = 100_000
_INPUTS: Final = 2  # as many as FUNDING_VBYTES includes
_MOST_INPUTS: Final = 5
_INPUT_VBYTES: Final = 68
_SOLD_OUT_S: Final = 600


class Reservation(Struct, frozen=True, kw_only=True):
    """The coins for an order, and the seller that has them."""

    coins: tuple[Coin, ...]
    seller: KnownSeller


async def prepare(
    shop: Shop, whose: str, quote: Quote, *, now: datetime
) -> Reservation:
    """Choose coins for an order; raise SoldOut if there are none, or SellerAway.

    The limits are checked here too, so that no useless invoice is created. `whose` is
    the organization, which may have one open order for a node; with "" only paid orders
    count, of all organizations.
    """
    asked = _Asked(whose=whose, channel=quote.channel, counted=False)
    await _check_limits(shop.database.reader, shop, asked, now=now)
    wallet = await read_wallet(shop)
    reserved = await shop.database.reader.reserved_coins.all_()
    coins = choose(wallet, reserved, quote)
    if not coins:
        raise SoldOut(retry_after_s=_SOLD_OUT_S)
    return Reservation(
        coins=coins, seller=KnownSeller(pubkey=wallet.pubkey, uri=wallet.uri)
    )


async def seller_uri(rows: Stores) -> str:
    """Return the address for buyers' nodes to connect to the seller; "" if unknown."""
    known = await rows.seller.find()
    return known.uri if known is not None else ""


async def read_wallet(shop: Shop) -> SellerWallet:
    """Return the seller's wallet; raise SellerAway if we can't sell from it."""
    if shop.seller is None:
        raise SellerAway("this platform sells no direct channels", retry_after_s=3600)
    wallet = await shop.seller.wallet()
    known = await shop.database.reader.seller.find()
    named = shop.rules.seller
    treasury = await shop.database.reader.treasury.find()
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


def choose(
    wallet: SellerWallet, reserved: set[Outpoint], quote: Quote
) -> tuple[Coin, ...]:
    """Return coins for a channel: the smallest that suffices, else a few; or none."""
    free = sorted(each for each in wallet.coins if each.outpoint not in reserved)
    if sum(each.sats for each in free) < _needed(quote, 1) + _ANCHOR_RESERVE:
        return ()
    for each in free:
        if each.sats >= _needed(quote, 1):
            return (each,)
    chosen: list[Coin] = []
    for each in reversed(free[-_MOST_INPUTS:]):
        chosen.append(each)
        if sum(one.sats for one in chosen) >= _needed(quote, len(chosen)):
            return tuple(chosen)
    return ()


def _needed(quote: Quote, inputs: int) -> int:
    size = FUNDING_VBYTES + max(0, inputs - _INPUTS) * _INPUT_VBYTES
    return quote.channel.capacity + quote.highest_fee_sat_per_vb * size


async def reserve(
    tx: Stores,
    shop: Shop,
    order: Order,
    reservation: Reservation,
    *,
    whose: str,
    now: datetime,
) -> None:
    """Reserve the coins in the order's own transaction, if the limits allow it."""
    asked = _Asked(
        whose=whose,
        channel=order.quote.channel,
        order_id=order.id,
        counted=True,
    )
    if (known := await tx.seller.find()) is None:
        await tx.seller.add(reservation.seller)
    elif known != reservation.seller:
        await tx.seller.replace(reservation.seller)
    await tx.seller.lock()
    await _check_limits(tx, shop, asked, now=now)
    if not await tx.reserved_coins.add(order.id, reservation.coins):
        raise Stale("another order reserved the coin in the meantime")
    # Read after that: a filled order releases its coins, which its channel has spent.
    spent = await tx.fundings.spent()
    if any(coin.outpoint in spent for coin in reservation.coins):
        raise Stale("another order's channel spent the coin in the meantime")


class _Asked(Struct, frozen=True, kw_only=True):
    """An order that limits are checked for."""

    whose: str
    channel: Channel
    order_id: str = ""
    counted: bool  # its row is already stored


async def _check_limits(
    rows: Stores, shop: Shop, asked: _Asked, *, now: datetime
) -> None:
    to, rules = asked.channel.destination, shop.rules
    if to is None:
        raise ValueError("an order with a ticket reserves no coins")
    more = 0 if asked.counted else asked.channel.capacity
    in_an_hour = await rows.orders.capacity_ordered_since(now - HOUR) + more
    if in_an_hour > rules.seller_most_per_hour:
        raise SoldOut(retry_after_s=_SOLD_OUT_S)
    for_the_node = await rows.orders.capacity_ordered_to(to.pubkey) + more
    if for_the_node > rules.seller_most_per_peer:
        raise Conflict(
            "node: has reached the maximum capacity per node "
            f"({rules.seller_most_per_peer:,} sat, with this order)"
        )
    if await rows.orders.is_open_to(to.pubkey, asked.whose, but=asked.order_id):
        raise Conflict(
            "node: has another open order; wait until that order ends, or cancel it"
        )
