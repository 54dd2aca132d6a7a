"""Each change of a just-in-time order: one transaction, with what it books.

The fee never passes through the treasury: it is what the purse's lnd keeps of a payment
that it forwards, and lnd's history of forwards is the evidence. It is booked in whole
satoshis, of all parts together. The funding transaction is booked as what it cost.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from prometheus_client import Counter

from leyden.base.database.stores import Stores
from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.base.rules.units import Sats
from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.direct.rules import jit
from leyden.channels.direct.rules.jit import (
    JIT_MOVES,
    CircuitKey,
    JitEvent,
    JitOrder,
    JitPart,
)
from leyden.channels.direct.rules.openings import Opening
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.services import ChannelServices
from leyden.channels.unit_of_work import UnitOfWork
from leyden.values import replace

log = logging.getLogger(__name__)

_EVENTS: Final = Counter(
    "leyden_jit_events_total",
    "What happened to just-in-time orders.",
    ["event"],
)


# The alarm ends by itself once it is published.
_ALARM_LASTS: Final = timedelta(minutes=10)


def fee_key(order_id: str) -> str:
    """Return the key of the entry for what an order earned."""
    return f"jit:{order_id}:fee"


def funding_key(order_id: str) -> str:
    """Return the key of the entry for what an order's funding transaction cost."""
    return f"jit:{order_id}:funding"


class Steps:
    """Moves orders, as long as the task is ours."""

    def __init__(self, channels: ChannelServices, due: ClaimedTask) -> None:
        self._channels, self._due = channels, due
        # lnd is there, forwards a payment, or has forwarded one.
        self.news = asyncio.Event()

    async def check_held(self) -> None:
        """Raise Stale if another process has the task by now."""
        await self._channels.database.reader.tasks.check_held(self._due.claim)

    async def hold(self, order: JitOrder, payment: jit.Payment) -> None:
        """Store that a payment is held, and since when."""
        held = replace(
            order,
            payment_hash=payment.payment_hash,
            held_at=payment.since,
            held_height=payment.height,
        )
        await self._move(order, JitEvent.HELD, held)

    async def turn_back(self, order: JitOrder, event: JitEvent) -> None:
        """Store that a payment goes back; without a channel its coins are free."""
        has_channel = bool(order.channel_point)
        after = order if has_channel else replace(order, coins=(), transaction="")
        await self._move(order, event, after)

    async def drop_payment(self, order: JitOrder) -> None:
        """Store that the payment goes back, while it is not known if a channel opens.

        The payer's next attempt is held for as long as any other.
        """
        async with self._due.transaction() as tx:
            await tx.jit_orders.save(order, replace(order, payment_hash=""))

    async def open(self, order: JitOrder, after: JitOrder) -> None:
        """Reserve coins, and store that lnd may have been asked for the channel."""
        await self._move(order, JitEvent.ASKED, after)

    async def store(self, order: JitOrder, transaction: str) -> JitOrder:
        """Store the signed transaction, before its channel can be."""
        after = replace(order, transaction=transaction)
        async with self._due.transaction() as tx:
            await tx.jit_orders.save(order, after)
        return after

    async def retract(self, order: JitOrder) -> None:
        """Store that channel and transaction are forgotten, and its id with them.

        lnd has none of the parts any more, and asks about none again.
        """
        after = replace(order, coins=(), channel_point="", transaction="")
        async with self._due.transaction() as tx:
            moved = _moved(order, JitEvent.RETRACTED, after)
            await tx.jit_orders.save(order, moved)
            await tx.jit_orders.drop_parts(order.id)
        _log(order, JitEvent.RETRACTED)

    async def alarm(self, order_id: str, point: str, why: str) -> None:
        """Raise an alarm: a node may have claimed, and its channel isn't published."""
        found = Finding(
            kind=AlarmKind.PURSE_UNPUBLISHED,
            subject=order_id,
            what=f"just-in-time order {order_id}: lnd doesn't publish the funding "
            f"transaction of channel {point}, whose node may have claimed: {why}; "
            "see docs/operators/just-in-time.md",
            lasts=_ALARM_LASTS,
        )
        async with self._due.transaction() as tx:
            await tx.findings.add([found], now=self._channels.clock())

    async def sign(self, order: JitOrder, opening: Opening) -> None:
        """Store the channel, and book what it cost if that is known."""
        after = replace(
            order, channel_point=opening.channel_point, funding_fee=opening.fee
        )
        async with self._due.transaction() as tx:
            await tx.jit_orders.save(order, _moved(order, JitEvent.SIGNED, after))
            await self._post(
                tx, funding_key(order.id), opening.fee or Sats(0), cost=True
            )
        _log(order, JitEvent.SIGNED)

    async def book_funding(self, order: JitOrder, fee: Sats) -> None:
        """Book what the funding transaction cost."""
        async with self._due.transaction() as tx:
            await tx.jit_orders.save(order, replace(order, funding_fee=fee))
            await self._post(tx, funding_key(order.id), fee, cost=True)

    async def resume(self, order: JitOrder, parts: Iterable[JitPart]) -> None:
        """Store what is about to be forwarded. From here on it is never failed."""
        after = replace(order, resumed_at=self._channels.clock())
        async with self._due.transaction() as tx:
            await tx.jit_orders.save(order, _moved(order, JitEvent.FORWARDED, after))
            await tx.jit_orders.add_parts(order.id, parts)
        self.news.set()
        _log(order, JitEvent.FORWARDED)

    async def earn(
        self,
        order: JitOrder,
        parts: Iterable[JitPart],
        fees_msat: Mapping[CircuitKey, int],
    ) -> None:
        """Book what lnd says that the parts earned."""
        ours = {each.circuit: fees_msat.get(each.circuit) for each in parts}
        earned = {circuit: msat for circuit, msat in ours.items() if msat is not None}
        total = sum(earned.values())
        after = replace(order, earned_msat=total)
        async with self._due.transaction() as tx:
            await tx.jit_orders.save(order, _moved(order, JitEvent.CLAIMED, after))
            await tx.jit_orders.earn(order.id, earned)
            await self._post(tx, fee_key(order.id), jit.whole_sats(total), cost=False)
        _log(order, JitEvent.CLAIMED)

    async def close_wrapped(self, order: JitOrder) -> None:
        """Store that the order's hold invoice is settled or cancelled."""
        async with self._due.transaction() as tx:
            await tx.wrapped_invoices.close(order.id)

    async def lose(self, order: JitOrder, paid_msat: int) -> None:
        """Store that a node was paid for which nobody will pay us, and raise an alarm.

        The order stays as it is: its node gets no other channel.
        """
        found = Finding(
            kind=AlarmKind.PURSE_LOST,
            subject=order.id,
            what=f"just-in-time order {order.id}: its node was paid {paid_msat:,} "
            "msat, but its payer's payment is gone: the platform or the purse's lnd "
            "was away for too long, see docs/operators/just-in-time.md",
        )
        async with self._due.transaction() as tx:
            await tx.findings.add([found], now=self._channels.clock())
            await tx.wrapped_invoices.close(order.id)

    async def prune(self, *, before: datetime, limit: int) -> None:
        """Delete orders that expired before then."""
        async with self._due.transaction() as tx:
            await tx.jit_orders.prune(before=before, limit=limit)
            await tx.wrapped_invoices.prune(before=before, limit=limit)

    async def lapse(self, orders: Sequence[JitOrder]) -> None:
        """Store that nobody paid these in time."""
        async with self._due.transaction() as tx:
            for order in orders:
                after = _moved(order, JitEvent.LAPSED, order)
                await tx.jit_orders.save(order, after)
        _EVENTS.labels(event=JitEvent.LAPSED.value).inc(len(orders))

    async def _move(self, order: JitOrder, event: JitEvent, after: JitOrder) -> None:
        async with self._due.transaction() as tx:
            await tx.jit_orders.save(order, _moved(order, event, after))
        _log(order, event)

    async def _post(self, tx: Stores, key: str, sats: Sats, *, cost: bool) -> None:
        if not sats:
            return
        entry = Entry(
            key=key,
            what=Reason.AUCTION if cost else Reason.EARNED,
            source=ledger.CHAIN_FEES if cost else ledger.PURSE,
            target=ledger.PURSE if cost else ledger.EARNED,
            sats=sats,
            note="funding of a just-in-time channel" if cost else "",
        )
        work = await UnitOfWork.load(tx, now=self._channels.clock())
        work.post([entry])
        await work.flush(tx)


def _moved(order: JitOrder, event: JitEvent, after: JitOrder) -> JitOrder:
    return replace(after, status=JIT_MOVES[order.status, event])


def _log(order: JitOrder, event: JitEvent) -> None:
    _EVENTS.labels(event=event.value).inc()
    log.info(
        "just-in-time order moved",
        extra={
            "order": order.id,
            "before": str(order.status),
            "after": str(JIT_MOVES[order.status, event]),
        },
    )
