"""Orders that need an operator: ticket missing, late or failed; channels in doubt."""

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import Final

from leyden.base.platform import Platform
from leyden.base.rules.alarms import Kind
from leyden.channels.direct.rules.fundings import Obstacle
from leyden.channels.rules.orders import Order, Status
from leyden.channels.rules.pricing import ChannelKind
from leyden.channels.shop import ShopSettings
from leyden.channels.tickets.missing_tickets import list_missing
from leyden.errors import MarketAway
from leyden.values import Struct

log = logging.getLogger(__name__)

# Work that is overdue by more than this counts as stuck.
LATE: Final = timedelta(minutes=5)
# After an order stopped waiting for its buyer's node, lnd may need this long to give up
# the opening.
_GIVES_UP: Final = timedelta(minutes=45)
_MOST_ORDERS: Final = 200
_HAS_A_TICKET: Final = frozenset({Status.CREATED, Status.SUBMITTED})
# An order that leaves nothing to do is listed for this long. A failed order is one, as
# its money was returned, unless its channel was signed.
_SHOWN_FOR: Final = timedelta(days=7)


class Reason(StrEnum):
    """Why an order is listed."""

    TICKET_MISSING = auto()
    TICKET_LATE = auto()
    TICKET_FAILED = auto()
    OPENING_WAITS = auto()  # as long as it may: for the buyer's node, or a lower fee
    OPENING_LATE = auto()
    OPENING_FAILED = auto()
    UNPUBLISHED = auto()
    UNCONFIRMED = auto()
    GIVEN_AWAY = auto()
    LOST = auto()
    OWED = auto()
    CLOSED = auto()


# What leaves an operator nothing to do has none: buyers, and strangers over LSPS1, can
# cause it without paying, and each of their orders would hide others among many.
_ALARMS: Final[Mapping[Reason, Kind | None]] = {
    Reason.TICKET_MISSING: Kind.ORDER_STUCK,
    Reason.TICKET_LATE: Kind.ORDER_STUCK,
    Reason.TICKET_FAILED: None,
    Reason.OPENING_WAITS: None,
    Reason.OPENING_LATE: Kind.ORDER_STUCK,
    Reason.OPENING_FAILED: None,
    Reason.UNPUBLISHED: Kind.ORDER_STUCK,
    Reason.UNCONFIRMED: Kind.ORDER_STUCK,
    Reason.GIVEN_AWAY: Kind.ORDER_UNPAID,
    Reason.LOST: Kind.ORDER_STUCK,
    Reason.OWED: Kind.ORDER_OWED,
    Reason.CLOSED: Kind.ORDER_STUCK,
}
_WHY: Final[Mapping[Reason, str]] = {
    Reason.TICKET_MISSING: (
        "the market lost the ticket: end the order with `leyden pool abandon`"
    ),
    Reason.TICKET_LATE: "the ticket is not created yet",
    Reason.TICKET_FAILED: "the ticket could not be created",
    Reason.OPENING_WAITS: "the channel is not open yet",
    Reason.OPENING_LATE: (
        "the channel is not open yet, and its payment should have been returned by now"
    ),
    Reason.OPENING_FAILED: "the channel could not be opened",
    Reason.UNPUBLISHED: (
        "the channel is signed but not published: see docs/direct-channels.md"
    ),
    Reason.UNCONFIRMED: "the channel is unconfirmed",
    Reason.GIVEN_AWAY: (
        "the payment was returned while the channel was signed: see "
        "docs/direct-channels.md"
    ),
    Reason.LOST: (
        "the channel can never open, and its price became credit: abandon the channel "
        "at the seller's lnd; see docs/direct-channels.md"
    ),
    Reason.OWED: (
        "the channel can never open, and you owe its price to a buyer without an "
        "account: pay it back by hand, and record that with `leyden account correct "
        "--kind refund`; abandon the channel at the seller's lnd; see "
        "docs/direct-channels.md"
    ),
    Reason.CLOSED: "the channel was closed before its lease ended",
}
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
    reason: Reason
    obstacle: str = ""  # to its confirmation

    @property
    def why(self) -> str:
        """The reason as a clause, with what to do about it."""
        why = _WHY[self.reason]
        return f"{why}: {_OBSTACLES[Obstacle(self.obstacle)]}" if self.obstacle else why

    @property
    def alarm(self) -> Kind | None:
        """The kind of alarm that it raises; None if there is nothing to do."""
        return _ALARMS[self.reason]


async def needing_attention(
    platform: Platform, *, now: datetime
) -> list[AttentionItem]:
    """List orders that need attention: ticket missing, late or failed."""
    reader = platform.database.reader.orders
    rules = platform.shop.rules if platform.shop is not None else ShopSettings()
    late = await reader.overdue(now - LATE, most=_MOST_ORDERS)
    failed = await reader.failed(since=now - _SHOWN_FOR, most=_MOST_ORDERS)
    leases = platform.database.reader.leases
    closed = await leases.closed_early(since=now - _SHOWN_FOR, most=_MOST_ORDERS)
    fundings = platform.database.reader.fundings
    lost = await fundings.lost([each.id for each in failed])
    strangers = await platform.database.reader.lsps1_orders.of_orders(lost)
    obstacles = {
        each.order_id: each.obstacle
        for each in await fundings.unconfirmed()
        if each.obstacle
    }
    unconfirmed = await reader.get_many(obstacles)
    return [
        *(
            AttentionItem(each, Reason.TICKET_MISSING)
            for each in await _missing(platform)
        ),
        *(AttentionItem(each, _late(each, rules, now=now)) for each in late),
        *(AttentionItem(each, _failed(each, lost, strangers)) for each in failed),
        *(
            AttentionItem(each, Reason.UNCONFIRMED, obstacles[each.id])
            for each in unconfirmed
        ),
        *(AttentionItem(each, Reason.CLOSED) for each in await reader.get_many(closed)),
    ]


def _late(order: Order, rules: ShopSettings, *, now: datetime) -> Reason:
    if order.kind is ChannelKind.TICKET:
        return Reason.TICKET_LATE
    if order.channel_point:
        return Reason.UNPUBLISHED
    patience = rules.peer_patience_held if order.held_htlc else rules.peer_patience
    waits = now - (order.paid_at or order.created) < patience + _GIVES_UP
    return Reason.OPENING_WAITS if waits else Reason.OPENING_LATE


def _failed(order: Order, lost: Collection[str], strangers: Collection[str]) -> Reason:
    if order.kind is ChannelKind.TICKET:
        return Reason.TICKET_FAILED
    if order.id in lost:
        return Reason.OWED if order.id in strangers else Reason.LOST
    return Reason.GIVEN_AWAY if order.channel_point else Reason.OPENING_FAILED


async def _missing(platform: Platform) -> list[Order]:
    """List orders with a missing ticket; those known before if the market is away."""
    if platform.shop is None:
        return []
    try:
        return await list_missing(platform.shop)
    except MarketAway as error:
        log.warning("can't check for missing tickets", extra={"why": str(error)})
    reader = platform.database.reader
    raised = [
        each.subject
        for each in await reader.alarms.list_()
        if each.reason == Reason.TICKET_MISSING
    ]
    orders = await reader.orders.get_many(raised)
    return [each for each in orders if each.status in _HAS_A_TICKET]
