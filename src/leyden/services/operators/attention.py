"""Orders that need an operator: ticket missing, late or failed; channels in doubt."""

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

from leyden.domain.fundings import Obstacle
from leyden.domain.orders import Order, Status
from leyden.errors import MarketAway
from leyden.services.channels.missing_tickets import list_missing
from leyden.services.platform import Platform
from leyden.values import Struct

log = logging.getLogger(__name__)

# What was due so long ago is not being done.
LATE: Final = timedelta(minutes=5)
_MOST_ORDERS: Final = 200
_MISSING: Final = "the market has lost its ticket: `leyden pool abandon` ends it"
_STUCK: Final = "its ticket is not made yet"
_FAILED: Final = "its ticket could not be made"
_DIRECT_FAILED: Final = "its channel could not be opened"
_LATE_OPENING: Final = "its channel is not open yet"
_CLOSED: Final = "its channel was closed before its lease ended"
_CLOSED_FOR: Final = timedelta(days=7)
_UNPUBLISHED: Final = (
    "its channel is signed and not published: see docs/direct-channels.md"
)
_GIVEN_AWAY: Final = (
    "its payment went back while its channel was signed: see docs/direct-channels.md"
)
_LOST: Final = (
    "its channel can never come, and its price became credit: abandon the channel at "
    "the seller's lnd; see docs/direct-channels.md"
)
_IN_NO_BLOCK: Final = "its channel waits for a block: "
_OBSTACLES: Final[Mapping[Obstacle, str]] = {
    Obstacle.CAPPED: "its fee rate is seller_bump_sat_per_vb; raise that, or wait",
    Obstacle.NO_CHANGE: "it has no change, or too little, that could pay more; wait, "
    "or spend its coin elsewhere: then its price becomes credit",
    Obstacle.FORBIDDEN: "seller_macaroon may not bump it; bake a new one",
    Obstacle.REFUSED: "the seller's lnd refuses to bump it; `leyden seller` says why",
    Obstacle.CONFLICT: "another transaction has its coin; once that is certain its "
    "price becomes credit",
    Obstacle.VANISHED: "the seller's wallet has lost its transaction",
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
    failed = await reader.in_status(Status.FAILED, most=_MOST_ORDERS)
    creating = await reader.in_status(Status.CREATING, most=_MOST_ORDERS)
    submitted = await reader.in_status(Status.SUBMITTED, most=_MOST_ORDERS)
    asked = [each for each in submitted if each.destination is not None]
    late = [
        each
        for each in (*creating, *asked)
        if each.paid_at and now - each.paid_at > LATE
    ]
    leases = platform.database.reader.leases
    closed = await leases.closed_early(since=now - _CLOSED_FOR, most=_MOST_ORDERS)
    fundings = platform.database.reader.fundings
    lost = await fundings.lost([each.id for each in failed])
    obstacles = {
        each.order_id: _IN_NO_BLOCK + _OBSTACLES[each.obstacle]
        for each in await fundings.unconfirmed()
        if each.obstacle
    }
    unconfirmed = await reader.get_many(obstacles)
    return [
        *(AttentionItem(each, _MISSING) for each in await _missing(platform)),
        *(AttentionItem(each, _late(each)) for each in late),
        *(AttentionItem(each, _failed(each, lost)) for each in failed),
        *(AttentionItem(each, obstacles[each.id]) for each in unconfirmed),
        *(AttentionItem(each, _CLOSED) for each in await reader.get_many(closed)),
    ]


def _late(order: Order) -> str:
    if order.destination is None:
        return _STUCK
    return _UNPUBLISHED if order.channel_point else _LATE_OPENING


def _failed(order: Order, lost: Collection[str]) -> str:
    if order.destination is None:
        return _FAILED
    if order.id in lost:
        return _LOST
    return _GIVEN_AWAY if order.channel_point else _DIRECT_FAILED


async def _missing(platform: Platform) -> list[Order]:
    """List orders with a missing ticket; none if the market is unavailable."""
    if platform.shop is None:
        return []
    try:
        return await list_missing(platform.shop)
    except MarketAway as error:
        log.warning(
            "it is not known whether tickets are missing", extra={"why": str(error)}
        )
        return []
