"""Look up payments whose updates were missed.

lnd does not replay updates from the time when the platform or the treasury's
stream was down. So everything that may still change is looked up.
"""

from collections.abc import AsyncIterator, Sequence

from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.checkout import record_payments
from leyden.channels.rules.orders import OrderStatus
from leyden.channels.rules.payments import (
    GONE,
    Invoice,
    InvoiceState,
    Output,
    OutputState,
    PaymentRequest,
    PaymentUpdate,
)
from leyden.channels.services import ChannelServices
from leyden.channels.treasury_identity import check_treasury

_BATCH = 100
_MAY_VANISH = {OutputState.SEEN, OutputState.BOOKED}


async def look_up(
    channels: ChannelServices, requests: Sequence[PaymentRequest]
) -> list[PaymentUpdate]:
    """Look up these orders' payments in the treasury; book new ones, and return all.

    A payment that the treasury does not list is gone only if the treasury
    knows the order: a treasury that was replaced or restored never had the
    invoice or the coins. A payment that is booked during the request is not
    gone either, so the outputs that may vanish are read before it. For the same
    reason, one that was unconfirmed before is not reversed if it still is.
    """
    reader = channels.database.reader.outputs
    known = await reader.of_orders(each.order_id for each in requests)
    updates = await channels.payments.lookup(requests)
    unconfirmed = {each.outpoint for each in known if each.state is OutputState.SEEN}
    listed = {each.outpoint for each in updates if isinstance(each, Output)}
    unknown = {
        each.payment_hash
        for each in updates
        if isinstance(each, Invoice) and each.state is InvoiceState.MISSING
    }
    addresses = {
        each.order_id: each.onchain_address
        for each in requests
        if each.payment_hash not in unknown
    }
    updates += [
        Output(
            outpoint=each.outpoint,
            address=addresses[each.order_id],
            sats=each.sats,
            confirmations=GONE,
        )
        for each in known
        if each.order_id in addresses
        and each.state in _MAY_VANISH
        and each.outpoint not in listed
    ]
    news = [
        each
        for each in updates
        if not isinstance(each, Output)
        or each.confirmations != 0
        or each.outpoint not in unconfirmed
    ]
    await record_payments(channels, news, now=channels.clock())
    return updates


async def sweep(channels: ChannelServices, due: ClaimedTask) -> None:
    """Find payments of all orders that may still gain or lose one."""
    await check_treasury(channels)
    async for batch in _may_change(channels):
        await look_up(channels, batch)
    async with due.transaction() as tx:
        await tx.quotes.delete(until=channels.clock() - 2 * channels.rules.quote_holds)
        await due.reschedule(tx, due=channels.clock() + channels.rules.sweep_every)


async def _may_change(channels: ChannelServices) -> AsyncIterator[list[PaymentRequest]]:
    orders = channels.database.reader.orders
    for status in (OrderStatus.WAITING_PAYMENT, OrderStatus.CREATING):
        after = ""
        while batch := await orders.payable(status, after=after, limit=_BATCH):
            after = batch[-1].order_id
            yield batch
    after = ""
    while batch := await orders.payable_direct(after=after, limit=_BATCH):
        after = batch[-1].order_id
        yield batch
    after = ""
    while ids := await channels.database.reader.outputs.watched(
        after=after, limit=_BATCH
    ):
        after = ids[-1]
        watched = await orders.get_many(ids)
        yield [each for order in watched if (each := order.payment_request)]
