"""Orders with a missing ticket: the market's poold lost its data.

Such an order can be neither filled nor cancelled automatically, because it is
unknown whether its channel will open. The operator is alerted and may end the
order.
"""

import asyncio

from leyden.channels.holding import end
from leyden.channels.rules.orders import Order, OrderEvent, OrderStatus
from leyden.channels.services import ChannelServices
from leyden.channels.tickets.rules.tickets import TicketState
from leyden.channels.unit_of_work import UnitOfWork, retry_while_stale
from leyden.errors import Conflict, Malformed, MarketAway
from leyden.values import replace

_BATCH = 500
_LONGEST_REASON = 500


async def list_missing(
    channels: ChannelServices, *, within_s: float = 2.0
) -> list[Order]:
    """List orders with a missing ticket; raise MarketAway on timeout."""
    found: list[Order] = []
    try:
        async with asyncio.timeout(within_s):
            for status in (OrderStatus.CREATED, OrderStatus.SUBMITTED):
                after = ""
                reader = channels.database.reader.orders
                while orders := await reader.in_status(
                    status, after=after, limit=_BATCH
                ):
                    after = orders[-1].id
                    tickets = [each for each in orders if each.has_open_ticket]
                    found += await _missing_of(channels, tickets)
    except TimeoutError:
        raise MarketAway(why="the market takes too long to respond") from None
    return found


async def _missing_of(channels: ChannelServices, orders: list[Order]) -> list[Order]:
    progress_by_ref = await channels.market.progress(
        [each.ticket_ref for each in orders]
    )
    return [
        each
        for each in orders
        if (progress := progress_by_ref.get(each.ticket_ref)) is not None
        and progress.state is TicketState.MISSING
    ]


async def abandon(
    channels: ChannelServices, order_id: str, *, reason: str, actor: str
) -> Order:
    """End an order with a missing ticket, or an unknown purchase; credit its payment.

    Raise Conflict while the market knows the ticket: then the order can be
    cancelled. A second call returns the same and moves nothing.
    """
    if not reason.strip() or len(reason) > _LONGEST_REASON:
        raise Malformed(f"reason: must have 1 to {_LONGEST_REASON} characters")
    order = await channels.database.reader.orders.get(order_id)
    if order.status is OrderStatus.CANCELLED:
        return order
    if not order.purchase_unknown:
        if not order.has_open_ticket:
            raise Conflict(f"an order that is {order.status} has no ticket")
        if not await _missing_of(channels, [order]):
            raise Conflict(
                "the market still knows the ticket; cancel the order instead"
            )
    abandoned = order

    async def step() -> None:
        nonlocal abandoned
        now = channels.clock()
        async with channels.database.transaction() as tx:
            work = await UnitOfWork.load(
                tx, [order_id], now=now, lock_organizations=True
            )
            current = work.order(order_id)
            if current.status is not order.status:
                raise Conflict(f"the order became {current.status} in the meantime")
            # There is no ticket left to cancel.
            abandoned = end(work, replace(current, offered=False), OrderEvent.CANCELLED)
            await work.flush(tx)
            await tx.audit.add(
                at=now,
                actor=actor,
                action="order abandoned",
                subject=order_id,
                organization_id=order.organization_id,
                credit_refund=abandoned.credit_refund,
                reason=reason,
            )

    await retry_while_stale(step)
    return abandoned
