"""Orders that need an operator: ticket missing, late or failed; channels in doubt."""

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import Final

from leyden.base.platform import Platform
from leyden.base.rules.alarms import AlarmKind
from leyden.channels.direct.rules.fundings import Obstacle
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.pricing import ChannelKind
from leyden.channels.services import ChannelSettings
from leyden.channels.tickets.missing_tickets import list_missing
from leyden.errors import MarketAway
from leyden.values import Struct

log = logging.getLogger(__name__)

# Work that is overdue by more than this counts as stuck.
LATE: Final = timedelta(minutes=5)
# After an order stopped waiting for its buyer's node, lnd may need this long to give up
# the opening.
_GIVES_UP: Final = timedelta(minutes=45)
_MAX_ORDERS: Final = 200
_HAS_A_TICKET: Final = frozenset({OrderStatus.CREATED, OrderStatus.SUBMITTED})
# An order that leaves nothing to do is listed for this long. A failed order is one, as
# its money was returned, unless its channel was signed.
_SHOWN_FOR: Final = timedelta(days=7)


class AttentionReason(StrEnum):
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
_ALARMS: Final[Mapping[AttentionReason, AlarmKind | None]] = {
    AttentionReason.TICKET_MISSING: AlarmKind.ORDER_STUCK,
    AttentionReason.TICKET_LATE: AlarmKind.ORDER_STUCK,
    AttentionReason.TICKET_FAILED: None,
    AttentionReason.OPENING_WAITS: None,
    AttentionReason.OPENING_LATE: AlarmKind.ORDER_STUCK,
    AttentionReason.OPENING_FAILED: None,
    AttentionReason.UNPUBLISHED: AlarmKind.ORDER_STUCK,
    AttentionReason.UNCONFIRMED: AlarmKind.ORDER_STUCK,
    AttentionReason.GIVEN_AWAY: AlarmKind.ORDER_UNPAID,
    AttentionReason.LOST: AlarmKind.ORDER_STUCK,
    AttentionReason.OWED: AlarmKind.ORDER_OWED,
    AttentionReason.CLOSED: AlarmKind.ORDER_STUCK,
}
WHY: Final[Mapping[AttentionReason, str]] = {
    AttentionReason.TICKET_MISSING: (
        "the market lost the ticket: end the order with `leyden orders abandon`"
    ),
    AttentionReason.TICKET_LATE: "the ticket is not created yet",
    AttentionReason.TICKET_FAILED: "the ticket could not be created",
    AttentionReason.OPENING_WAITS: "the channel is not open yet",
    AttentionReason.OPENING_LATE: (
        "the channel is not open yet, and its payment should have been returned by now"
    ),
    AttentionReason.OPENING_FAILED: "the channel could not be opened",
    AttentionReason.UNPUBLISHED: (
        "the channel is signed but not published: see docs/operators/orders.md"
    ),
    AttentionReason.UNCONFIRMED: "the channel is unconfirmed",
    AttentionReason.GIVEN_AWAY: (
        "the payment was returned while the channel was signed: see "
        "docs/operators/orders.md"
    ),
    AttentionReason.LOST: (
        "the channel can never open, and its price became credit: abandon the channel "
        "at the seller's lnd; see docs/operators/orders.md"
    ),
    AttentionReason.OWED: (
        "the channel can never open, and you owe its price to a buyer without an "
        "account: pay it back by hand, and record that with `leyden orgs credit "
        "correct --kind refund`; abandon the channel at the seller's lnd; see "
        "docs/operators/orders.md"
    ),
    AttentionReason.CLOSED: "the channel was closed before its lease ended",
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
    reason: AttentionReason
    obstacle: str = ""  # to its confirmation

    @property
    def why(self) -> str:
        """The reason as a clause, with what to do about it."""
        why = WHY[self.reason]
        return f"{why}: {_OBSTACLES[Obstacle(self.obstacle)]}" if self.obstacle else why

    @property
    def alarm(self) -> AlarmKind | None:
        """The kind of alarm that it raises; None if there is nothing to do."""
        return _ALARMS[self.reason]


async def needing_attention(
    platform: Platform, *, now: datetime
) -> list[AttentionItem]:
    """List orders that need attention: ticket missing, late or failed."""
    reader = platform.database.reader.orders
    rules = (
        platform.channels.rules if platform.channels is not None else ChannelSettings()
    )
    late = await reader.overdue(now - LATE, limit=_MAX_ORDERS)
    failed = await reader.failed(since=now - _SHOWN_FOR, limit=_MAX_ORDERS)
    leases = platform.database.reader.leases
    closed = await leases.closed_early(since=now - _SHOWN_FOR, limit=_MAX_ORDERS)
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
            AttentionItem(each, AttentionReason.TICKET_MISSING)
            for each in await _missing(platform)
        ),
        *(AttentionItem(each, _late(each, rules, now=now)) for each in late),
        *(AttentionItem(each, _failed(each, lost, strangers)) for each in failed),
        *(
            AttentionItem(each, AttentionReason.UNCONFIRMED, obstacles[each.id])
            for each in unconfirmed
        ),
        *(
            AttentionItem(each, AttentionReason.CLOSED)
            for each in await reader.get_many(closed)
        ),
    ]


def _late(order: Order, rules: ChannelSettings, *, now: datetime) -> AttentionReason:
    if order.kind is ChannelKind.TICKET:
        return AttentionReason.TICKET_LATE
    if order.channel_point:
        return AttentionReason.UNPUBLISHED
    patience = rules.peer_patience_held if order.held_htlc else rules.peer_patience
    waits = now - (order.paid_at or order.created) < patience + _GIVES_UP
    return AttentionReason.OPENING_WAITS if waits else AttentionReason.OPENING_LATE


def _failed(
    order: Order, lost: Collection[str], strangers: Collection[str]
) -> AttentionReason:
    if order.kind is ChannelKind.TICKET:
        return AttentionReason.TICKET_FAILED
    if order.id in lost:
        return AttentionReason.OWED if order.id in strangers else AttentionReason.LOST
    return (
        AttentionReason.GIVEN_AWAY
        if order.channel_point
        else AttentionReason.OPENING_FAILED
    )


async def _missing(platform: Platform) -> list[Order]:
    """List orders with a missing ticket; those known before if the market is away."""
    if platform.channels is None:
        return []
    try:
        return await list_missing(platform.channels)
    except MarketAway as error:
        log.warning("can't check for missing tickets", extra={"why": str(error)})
    reader = platform.database.reader
    raised = [
        each.subject
        for each in await reader.alarms.list_()
        if each.reason == AttentionReason.TICKET_MISSING
    ]
    orders = await reader.orders.get_many(raised)
    return [each for each in orders if each.status in _HAS_A_TICKET]
