"""Orders that need an operator: ticket missing, late or failed; channels in doubt."""

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

from leyden.domain.fundings import Obstacle
from leyden.domain.orders import Order
from leyden.errors import MarketAway
from leyden.services.channels.missing_tickets import list_missing
from leyden.services.platform import Platform
from leyden.values import Struct

log = logging.getLogger(__name__)

# Work that is overdue by more than this counts as stuck.
LATE: Final = timedelta(minutes=5)
_MOST_ORDERS: Final = 200
# An order that leaves nothing to do is shown for this long. A failed order is one, as
# its money was returned, unless its channel was signed.
_SHOWN_FOR: Final = timedelta(days=7)
_MISSING: Final = "the market lost the ticket: end the order with `leyden pool abandon`"
_STUCK: Final = "the ticket is not created yet"
_FAILED: Final = "the ticket could not be created"
_DIRECT_FAILED: Final = "the channel could not be opened"
_LATE_OPENING: Final = "the channel is not open yet"
_CLOSED: Final = "the channel was closed before its lease ended"
_UNPUBLISHED: Final = (
    "the channel is signed but not published: see docs/direct-channels.md"
)
_GIVEN_AWAY: Final = (
    "the payment was returned while the channel was signed: see docs/direct-channels.md"
)
_LOST: Final = (
    "the channel can never open, and its price became credit: abandon the channel at "
    "the seller's lnd; see docs/direct-channels.md"
)
_OWED: Final = (
    "the channel can never open, and you owe its price to a buyer without an account: "
    "pay it back by hand, and record that with `leyden account correct --kind refund`; "
    "abandon the channel at the seller's lnd; see docs/direct-channels.md"
)
_IN_NO_BLOCK: Final = "the channel is unconfirmed: "
_OBSTACLES: Final[Mapping[Obstacle, str]] = {
    Obstacle.CAPPED: (
        "the fee rate has reached seller_bump_sat_per_vb; raise that setting, or wait"
    ),
    Obstacle.NO_CHANGE: (
        "the transaction has too little change to pay a higher fee; wait, or spend its "
        "coin elsewhere: then its price becomes credit"
    ),
    Obstacle.FORBIDDEN: (
        "seller_macaroon lacks the permission to bump it; bake a new one"
    ),
    Obstacle.REFUSED: "the seller's lnd can't bump it; `leyden seller` shows why",
    Obstacle.CONFLICT: (
        "another transaction spent its coin; once that is final, the price becomes "
        "credit"
    ),
    Obstacle.VANISHED: "the seller's wallet lost the transaction",
}


class AttentionItem(Struct, frozen=True):
    """An order that needs attention."""

    order: Order
    why: str


async def needing_attention(
    platform: Platform, *, now: datetime
) -> list[AttentionItem]:
    """List orders that need attention: ticket missing, late or failed."""
    reader = platform.database.reader.orders
    late = await reader.overdue(now - LATE, most=_MOST_ORDERS)
    failed = await reader.failed(since=now - _SHOWN_FOR, most=_MOST_ORDERS)
    leases = platform.database.reader.leases
    closed = await leases.closed_early(since=now - _SHOWN_FOR, most=_MOST_ORDERS)
    fundings = platform.database.reader.fundings
    lost = await fundings.lost([each.id for each in failed])
    strangers = await platform.database.reader.lsps1_orders.of_orders(lost)
    obstacles = {
        each.order_id: _IN_NO_BLOCK + _OBSTACLES[each.obstacle]
        for each in await fundings.unconfirmed()
        if each.obstacle
    }
    unconfirmed = await reader.get_many(obstacles)
    return [
        *(AttentionItem(each, _MISSING) for each in await _missing(platform)),
        *(AttentionItem(each, _late(each)) for each in late),
        *(AttentionItem(each, _failed(each, lost, strangers)) for each in failed),
        *(AttentionItem(each, obstacles[each.id]) for each in unconfirmed),
        *(AttentionItem(each, _CLOSED) for each in await reader.get_many(closed)),
    ]


def _late(order: Order) -> str:
    if order.destination is None:
        return _STUCK
    return _UNPUBLISHED if order.channel_point else _LATE_OPENING


def _failed(order: Order, lost: Collection[str], strangers: Collection[str]) -> str:
    if order.destination is None:
        return _FAILED
    if order.id in lost:
        return _OWED if order.id in strangers else _LOST
    return _GIVEN_AWAY if order.channel_point else _DIRECT_FAILED


async def _missing(platform: Platform) -> list[Order]:
    """List orders with a missing ticket; none if the market is unavailable."""
    if platform.shop is None:
        return []
    try:
        return await list_missing(platform.shop)
    except MarketAway as error:
        log.warning("can't check for missing tickets", extra={"why": str(error)})
        return []
