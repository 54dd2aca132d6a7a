"""Looking for payments that nobody told us of.

What comes while the platform is down, or while the treasury's stream is, is not told
again: lnd replays nothing from the start. So whatever may still change is looked up.
"""

from collections.abc import AsyncIterator, Sequence

from leyden.domain.orders import Status
from leyden.domain.payments import (
    GONE,
    Invoice,
    InvoiceState,
    Output,
    OutputState,
    PaymentRequest,
)
from leyden.services.checkout import record_payments
from leyden.services.due import Due
from leyden.services.recognition import recognise
from leyden.services.shop import Shop

_BATCH = 100
_MAY_VANISH = {OutputState.SEEN, OutputState.BOOKED}


async def look_for(shop: Shop, requests: Sequence[PaymentRequest]) -> None:
    """Ask the treasury how these orders' payments stand, and book what is new.

    What it says nothing of is gone only if it knows the order: a treasury that was
    swapped or restored has never heard of the invoice, nor of the coins.
    """
    updates = await shop.payments.look(requests)
    told = {each.outpoint for each in updates if isinstance(each, Output)}
    strange = {
        each.payment_hash
        for each in updates
        if isinstance(each, Invoice) and each.state is InvoiceState.MISSING
    }
    addresses = {
        each.order_id: each.onchain_address
        for each in requests
        if each.payment_hash not in strange
    }
    known = await shop.database.reader.outputs.of_orders(addresses)
    updates += [
        Output(
            outpoint=each.outpoint,
            address=addresses[each.order_id],
            sats=each.sats,
            confirmations=GONE,
        )
        for each in known
        if each.state in _MAY_VANISH and each.outpoint not in told
    ]
    await record_payments(shop, updates, now=shop.clock())


async def sweep(shop: Shop, due: Due) -> None:
    """Look for the payments of all orders that may still get, or lose, one."""
    await recognise(shop)
    async for batch in _may_change(shop):
        await look_for(shop, batch)
    async with due.transaction() as tx:
        await tx.quotes.forget(until=shop.clock() - 2 * shop.rules.quote_holds)
        await due.again(tx, due=shop.clock() + shop.rules.sweep_every)


async def _may_change(shop: Shop) -> AsyncIterator[list[PaymentRequest]]:
    orders = shop.database.reader.orders
    for status in (Status.WAITING_PAYMENT, Status.CREATING):
        after = ""
        while batch := await orders.payable(status, after=after, most=_BATCH):
            after = batch[-1].order_id
            yield batch
    after = ""
    while ids := await shop.database.reader.outputs.watched(after=after, most=_BATCH):
        after = ids[-1]
        watched = await orders.get_many(ids)
        yield [each for order in watched if (each := order.payment_request)]
