"""What paid direct orders have in common, whoever opens their channels."""

import logging
from datetime import timedelta
from typing import Final

from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.holding import credit, fill, hand_back, settle
from leyden.channels.payment_sweep import look_up
from leyden.channels.rules import ledger
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.ledger import Reason
from leyden.channels.rules.orders import Order, OrderEvent, OrderStatus, advance
from leyden.channels.services import ChannelServices
from leyden.channels.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)

NOT_ASKED: Final = frozenset({OrderStatus.CREATING, OrderStatus.CREATED})


async def look_up_payment(channels: ChannelServices, order: Order) -> Order:
    """Look up the order's payment if it is held; return the order as it is then."""
    if not order.held_htlc or (request := order.payment_request) is None:
        return order
    await look_up(channels, [request])
    return await channels.database.reader.orders.get(order.id)


def book(
    work: UnitOfWork, order: Order, lease: Lease, *, settled: bool, account: str
) -> None:
    """Book the payment for a published channel, and move the order to `filled`.

    `account` gets what the channel cost.
    """
    if order.status in NOT_ASKED:
        order = work.move(advance(order, OrderEvent.ASKED))
    if order.held_htlc:
        order = settle(work, order) if settled else hand_back(work, order)
    if work.holds(order) < order.total_fee:
        log.error(
            "a channel was opened without payment: the payment was gone before "
            "publication",
            extra={"order": order.id, "channel_point": lease.channel_point},
        )
        work.report(
            Finding(
                kind=AlarmKind.ORDER_UNPAID,
                subject=order.id,
                what=f"order {order.id}: channel {lease.channel_point} was opened "
                "without payment, as the payment was gone before it was published"
                + (": you can close it" if account == ledger.SELLER else ""),
            )
        )
    credit(
        work,
        order,
        max(0, work.surplus(order)),
        source=ledger.held(order.id),
        what=Reason.SURPLUS,
        key=f"opened:{order.id}:surplus",
    )
    order = work.change(order.with_changes(channel_point=lease.channel_point))
    fill(work, order, lease, account=account, payee="channel")


def lock_left(order: Order, height: int) -> int:
    """Return the blocks left to settle a held payment; 2**31 if none is held."""
    return order.htlc_expires - height if order.held_htlc else 2**31


def waited_long(channels: ChannelServices, order: Order) -> bool:
    """Return whether the order has waited for its node as long as it may."""
    since = channels.clock() - (order.paid_at or order.created)
    held = bool(order.held_htlc)
    rules = channels.rules
    return since >= (rules.peer_patience_held if held else rules.peer_patience)


async def reschedule(
    channels: ChannelServices, due: ClaimedTask, pause: timedelta
) -> None:
    """Put the task off."""
    async with due.transaction() as tx:
        await due.reschedule(tx, due=channels.clock() + pause)
