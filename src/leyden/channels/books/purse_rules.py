"""Compare the channels of the purse with lnd's history of forwards, and with the books.

What just-in-time channels earn is booked from that history. It can be silent: of an
HTLC that was failed although it was forwarded, and of what lnd did not write down
before it was killed. And it can claim more than arrived, for who may answer lnd about
HTLCs may lie about their amount. The balances of channels can't. What wrapped invoices
earn is the difference of two payments, which are no forwards.

Channels are read before and after the history, and one that changed, or has a payment
under way, is not compared.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from leyden.base.database.stores import Stores
from leyden.channels.books.broken_rules import Broken
from leyden.channels.direct.base import Purse, Wrapping
from leyden.channels.direct.rules import jit
from leyden.channels.direct.rules.jit import JitChannel, JitOrder, JitStatus
from leyden.channels.direct.rules.wrapped import PaidState, is_wrapped
from leyden.channels.rules.payments import InvoiceState
from leyden.values import Struct

# Before the first forward of any lnd.
_EVER: Final = datetime(2015, 1, 1, tzinfo=UTC)
_PAGE: Final = 200
_SETTLED: Final = (JitStatus.EARNED, JitStatus.UNPAID)


async def broken_by(
    rows: Stores, purse: Purse, *, now: datetime
) -> AsyncIterator[Broken]:
    """Yield what is wrong with the purse; raise SellerAway if it does not respond."""
    pubkey = (await purse.seller.wallet()).pubkey
    orders = {each.id: each async for each in _orders(rows, pubkey)}
    before = await purse.forwarding.channels()
    history = await purse.forwarding.forwards(_EVER)
    wrapped = {
        each.id: await _payments(purse.wrapping, each)
        for each in orders.values()
        if is_wrapped(each.id)
    }
    after = {each.point: each for each in await purse.forwarding.channels()}

    arrived: Counter[int] = Counter()
    left: Counter[int] = Counter()
    for forward in history:
        arrived[int(forward.circuit.chan_id)] += forward.in_msat
        left[forward.scid] += forward.out_msat
    for channel in before:
        if order_payments := wrapped.get(channel.order_id):
            left[channel.scid] += order_payments.paid_msat
        if channel.settled and channel == after.get(channel.point):
            for what in _channel(channel, orders, arrived, left):
                yield Broken("I15", what, channel.order_id or channel.point)
    fees = {each.circuit: each.fee_msat for each in history}
    for order in orders.values():
        if order.status not in _SETTLED or jit.may_be_claimed(order, now=now):
            continue
        await asyncio.sleep(0)  # SQLite's reads let nobody else run
        if order.id in wrapped:
            earned = wrapped[order.id].earned_msat
        else:
            parts = await rows.jit_orders.parts(order.id)
            earned = sum(fees.get(each.circuit, 0) for each in parts)
        if earned != order.earned_msat:
            what = (
                f"just-in-time order {order.id}: by lnd's history it earned "
                f"{earned:,} msat, but {order.earned_msat:,} are booked"
            )
            yield Broken("I15", what, order.id)


class _Payments(Struct, frozen=True):
    """What lnd says of the two payments of a wrapped invoice."""

    paid_msat: int = 0  # to the node
    earned_msat: int = 0


async def _payments(wrapping: Wrapping | None, order: JitOrder) -> _Payments:
    if wrapping is None or not order.payment_hash:
        return _Payments()
    payment = await wrapping.payment(order.payment_hash)
    if payment.state is not PaidState.SUCCEEDED:
        return _Payments()
    invoice = await wrapping.find(order.payment_hash)
    is_settled = invoice.state is InvoiceState.SETTLED
    received = invoice.msat if is_settled else 0
    return _Payments(payment.msat, received - payment.msat)


async def _orders(rows: Stores, pubkey: str) -> AsyncIterator[JitOrder]:
    """Yield the orders of this lnd that have channels."""
    last = ""
    while page := await rows.jit_orders.in_states(jit.FUNDED, after=last, limit=_PAGE):
        last = page[-1].id
        for order in page:
            if order.purse == pubkey:
                yield order


def _channel(
    channel: JitChannel,
    orders: Mapping[str, JitOrder],
    arrived: Mapping[int, int],
    left: Mapping[int, int],
) -> Iterator[str]:
    """Yield how a channel's balance differs from its forwards."""
    received = sum(arrived.get(each, 0) for each in channel.scids)
    sent = sum(left.get(each, 0) for each in channel.scids)
    if channel.received < jit.whole_sats(received):
        yield (
            f"channel {channel.point}: by lnd's history {jit.whole_sats(received):,} "
            f"sat arrived, but the channel received {channel.received:,}"
        )
    if (order := orders.get(channel.order_id)) is None:
        return
    if channel.remote != jit.whole_sats(sent - received):
        yield (
            f"just-in-time order {order.id}: its node has {channel.remote:,} sat in "
            f"channel {channel.point}, but by lnd's history "
            f"{jit.whole_sats(sent - received):,}"
        )
