"""Refunds of paid orders that get no ticket or channel."""

from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.holding import end, settle
from leyden.channels.rules.orders import Order, OrderEvent
from leyden.channels.services import ChannelServices
from leyden.channels.unit_of_work import UnitOfWork


async def refund(
    channels: ChannelServices,
    due: ClaimedTask,
    order: Order,
    *,
    channel_point: str = "",
) -> None:
    """Fail the order and refund its payments; cancel a held HTLC first.

    `channel_point` is of a channel that may open nevertheless: the operator is told.

    If the HTLC cannot be cancelled, it has been settled and is ours: the
    order's money becomes credit. If another process has claimed the task, nothing
    is cancelled: that process may be opening the channel that the HTLC pays for.
    """
    request = order.payment_request
    handed_back = True
    if order.held_htlc and request is not None:
        await channels.database.reader.tasks.check_held(due.claim)
        handed_back = await channels.payments.cancel(request)
    async with due.transaction() as tx:
        work = await UnitOfWork.load(
            tx, [due.key], now=channels.clock(), lock_organizations=True
        )
        order = work.order(due.key)
        if order.may(OrderEvent.BROKE):
            if order.held_htlc and not handed_back:
                order = settle(work, order)
            if channel_point:
                order = work.change(order.with_changes(channel_point=channel_point))
            end(work, order, OrderEvent.BROKE)
        await work.flush(tx)
        await due.done(tx)
