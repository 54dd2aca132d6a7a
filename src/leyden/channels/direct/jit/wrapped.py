"""Follow wrapped invoices: one task for each order until nothing is left to do for it.

1. An invoice that is paid is held: that is stored, with its time.
2. Coins are reserved and the channel is opened as for LSPS2, by the same steps.
3. That the inner invoice is being paid is stored, and only then lnd is told to.
4. Once lnd says that it was paid, its preimage settles the hold invoice, and the fee is
   booked, as the difference of what lnd says of both payments.
5. Once lnd says that it failed, or before it was told to pay, the hold invoice is
   cancelled: after 90 seconds at most, which is far within the payer's time.

Whoever dies anywhere in between, the next one asks lnd and goes on.
"""

import asyncio
import contextlib
import logging
from datetime import timedelta
from typing import Final

from leyden.channels.direct.base import Purse, Wrapping, WrapRefused
from leyden.channels.direct.jit import purse as purses
from leyden.channels.direct.jit.interceptor import Interceptor
from leyden.channels.direct.jit.steps import Steps
from leyden.channels.direct.jit.watch import Watch
from leyden.channels.direct.rules import jit
from leyden.channels.direct.rules import wrapped as rules
from leyden.channels.direct.rules.jit import (
    JitEvent,
    JitOrder,
    JitStatus,
    Payment,
)
from leyden.channels.direct.rules.wrapped import (
    HoldInvoice,
    InnerPayment,
    PaidState,
    WrappedInvoice,
    WrapStep,
)
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.services import ChannelServices
from leyden.errors import Away, Stale
from leyden.values import Struct, replace

log = logging.getLogger(__name__)

_AT_ONCE: Final = 0.0
_SOON_S: Final = 0.1  # lnd opens the channel, or is about to know
_AGAIN_S: Final = 0.3  # lnd has no route yet
_OPEN_S: Final = 0.5  # somebody may pay, or the node connects
_IDLE_S: Final = 1.0
_FRESH_S: Final = 0.5
# A node may keep its payment for a day: lnd tells when that is over. An lnd that is
# gone without a packet tells nothing, and is asked again.
_TOLD_WITHIN_S: Final = 60.0
_SEARCHED_EVERY: Final = timedelta(minutes=1)
# What a frozen lnd was told, it reads once it goes on: soon after it answers again.
_READ_S: Final = 2.0


class _Seen(Struct, frozen=True, kw_only=True):
    """An order, its invoices, and the hold invoice as lnd has it at this height."""

    order: JitOrder
    wrapped: WrappedInvoice
    invoice: HoldInvoice
    height: int
    synced: bool  # else the height may be one of long ago
    online: bool  # the node


class Wrapped:
    """Follows orders of wrapped invoices, in the process that intercepts."""

    def __init__(
        self,
        channels: ChannelServices,
        purse: Purse,
        wrapping: Wrapping,
        steps: Steps,
        *,
        interceptor: Interceptor,
        watch: Watch,
    ) -> None:
        self._channels, self._purse, self._wrapping = channels, purse, wrapping
        self._steps, self._interceptor, self._watch = steps, interceptor, watch
        self._reader = channels.database.reader
        # An lnd that is behind its chain can settle: the payer's time goes on.
        self._wallet = purses.RecentWallet(channels, purse, needs_chain=False)
        self._busy: set[str] = set()
        self._unread: set[str] = set()  # orders whose payment lnd may not know of yet
        self._searched_at = channels.clock() - _SEARCHED_EVERY

    async def run(self) -> None:
        """Look again and again until cancelled."""
        logged = ""
        async with asyncio.TaskGroup() as group:
            while True:
                pause = _IDLE_S
                try:
                    pause = await self._look(group)
                    logged = ""
                except (Away, Stale) as error:
                    if str(error) != logged:
                        logged = str(error)
                        log.warning(
                            "can't follow wrapped invoices", extra={"why": logged}
                        )
                await asyncio.sleep(pause)

    async def _look(self, group: asyncio.TaskGroup) -> float:
        """Begin to follow each order that has something to do; return the pause."""
        await self._book_costs()
        await self._search()
        found = await self._reader.wrapped_invoices.open()
        found = [each for each in found if each.order_id not in self._busy]
        if not found:
            return _IDLE_S
        wallet = await self._wallet.get(fresh_s=_FRESH_S)
        pending = await self._wrapping.pending()
        for each in found:
            order = await self._reader.jit_orders.find(each.order_id)
            if order is None or order.purse != wallet.pubkey:
                continue
            if self._is_waiting(order, pending.get(each.payment_hash)):
                continue
            self._busy.add(order.id)
            group.create_task(self._serve(order.id, each.payment_hash))
        return _OPEN_S

    async def _search(self) -> None:
        """Settle what is held for nodes that were paid for an order that is lost.

        A database that was restored may be older than the order. Its row was stored
        before the invoice was created.
        """
        now = self._channels.clock()
        if now - self._searched_at < _SEARCHED_EVERY:
            return
        for payment_hash, invoice in (await self._wrapping.pending()).items():
            is_held = invoice.state is InvoiceState.ACCEPTED
            rows = self._reader.wrapped_invoices
            if not is_held or await rows.with_hash(payment_hash) is not None:
                continue
            payment = await self._wrapping.payment(payment_hash)
            if payment.state is PaidState.SUCCEEDED:
                log.error(
                    "a payment is settled whose order the database does not know",
                    extra={"payment_hash": payment_hash},
                )
                await self._wrapping.settle(payment.preimage)
        self._searched_at = now

    def _is_waiting(self, order: JitOrder, invoice: HoldInvoice | None) -> bool:
        """Return whether nobody has paid the order, which still can be."""
        return (
            invoice is not None
            and invoice.state is InvoiceState.OPEN
            and order.status is JitStatus.SOLD
            and self._channels.clock() < order.valid_until
        )

    async def _serve(self, order_id: str, payment_hash: str) -> None:
        """Take steps until none is left; what is not known is asked again."""
        logged = ""
        try:
            while True:
                try:
                    seen = await self._see(payment_hash)
                    pause = await self._step(seen) if seen else None
                except (Away, Stale) as error:
                    pause = _OPEN_S
                    if str(error) != logged:
                        logged = str(error)
                        log.warning(
                            "a wrapped invoice waits",
                            extra={"order": order_id, "why": logged},
                        )
                except Exception:
                    pause = _OPEN_S
                    log.exception("a wrapped invoice waits", extra={"order": order_id})
                if pause is None:
                    return
                await asyncio.sleep(pause)
        finally:
            self._busy.discard(order_id)

    async def _see(self, payment_hash: str) -> _Seen | None:
        """Return what there is now; None if there is nothing to do for this lnd."""
        wrapped = await self._reader.wrapped_invoices.with_hash(payment_hash)
        if wrapped is None or wrapped.closed:
            return None
        wallet = await self._wallet.get(fresh_s=_FRESH_S)
        order = await self._reader.jit_orders.find(wrapped.order_id)
        if order is None or order.purse != wallet.pubkey:
            return None
        invoice = await self._wrapping.find(payment_hash)
        if invoice.state is InvoiceState.MISSING and wrapped.wrapped:
            # lnd deletes cancelled invoices, if it is told to.
            invoice = HoldInvoice(state=InvoiceState.CANCELLED)
        return _Seen(
            order=order,
            wrapped=wrapped,
            invoice=invoice,
            height=wallet.height,
            synced=wallet.synced,
            online=order.peer in wallet.peers,
        )

    async def _step(self, seen: _Seen) -> float | None:
        """Take one step; return the pause before the next one, None if none is due."""
        order = seen.order
        step = rules.decide(
            order,
            seen.invoice,
            delta=seen.wrapped.delta,
            online=seen.online,
            now=self._channels.clock(),
            height=seen.height,
        )
        match step:
            case WrapStep.WAIT:
                return _OPEN_S if order.status in jit.HELD_STATES else None
            case WrapStep.PAY:
                return await self._pay(seen)
            case WrapStep.FOLLOW:
                return await self._follow(seen)
            case WrapStep.CANCEL:
                return await self._cancel(seen)
            case WrapStep.RETURN:
                await self._steps.turn_back(order, JitEvent.RETURNED)
            case WrapStep.LAPSE:
                await self._steps.lapse([order])
            case WrapStep.CLOSE:
                await self._steps.close_wrapped(order)
            case _:
                return await self._open(seen, step)
        return _AT_ONCE

    # Before the channel: as for LSPS2.

    async def _open(self, seen: _Seen, step: WrapStep) -> float:
        """Store that a payment is held, reserve coins, open the channel or find it."""
        order, now = seen.order, self._channels.clock()
        is_new = step is WrapStep.HOLD
        payment = Payment(
            payment_hash=seen.wrapped.payment_hash,
            amount_msat=seen.invoice.msat,
            since=now if is_new else order.held_at,
            height=seen.height if is_new else order.held_height,
        )
        done = True
        match step:
            case WrapStep.HOLD:
                await self._steps.hold(order, payment)
            case WrapStep.OPEN:
                done = await self._interceptor.reserve(order, payment)
            case WrapStep.FIND:
                done = await self._interceptor.open(order)
            case WrapStep.LOOK:
                await self._watch.end_unheld(order, now)
                return _IDLE_S  # lnd may know in half an hour
        return _AT_ONCE if done else _SOON_S

    async def _book_costs(self) -> None:
        for order_id in await self._reader.wrapped_invoices.without_cost():
            order = await self._reader.jit_orders.find(order_id)
            if order is not None and order.channel_point:
                await self._watch.end_unheld(order, self._channels.clock())

    # With the channel.

    async def _pay(self, seen: _Seen) -> float:
        """Store that the inner invoice is being paid; the next step does it."""
        channel = await self._interceptor.channel_of(seen.order)
        if channel is None or not channel.active or not seen.synced:
            return _SOON_S
        why = "" if channel.zero_conf else "the channel is not zero-conf"
        began = await self._wrapping.payment(seen.wrapped.payment_hash)
        if began.state is not PaidState.NONE:
            # Not by us: what was paid with this hash is not this invoice.
            why = "its payment hash was used before"
        if why:
            log.error(
                "a wrapped payment goes back",
                extra={"order": seen.order.id, "why": why},
            )
            await self._steps.turn_back(seen.order, JitEvent.RETURNED)
        else:
            await self._steps.resume(seen.order, [rules.part_of(seen.order)])
        return _AT_ONCE

    async def _follow(self, seen: _Seen) -> float:
        """Pay, until it is known that the inner invoice is paid, or can't be."""
        payment_hash = seen.wrapped.payment_hash
        payment = await self._wrapping.payment(payment_hash)
        if seen.order.id in self._unread:
            # Else it might be paid once more, or after it was given up.
            self._unread.remove(seen.order.id)
            return _READ_S
        match payment.state:
            case PaidState.SUCCEEDED:
                await self._settle(seen, payment)
                return _AT_ONCE
            case PaidState.IN_FLIGHT:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_TOLD_WITHIN_S):
                        await self._wrapping.decided(payment_hash)
                return _SOON_S
            case PaidState.FAILED:
                if payment.why not in rules.RETRIED or rules.is_over(
                    seen.order, now=self._channels.clock(), height=seen.height
                ):
                    await self._refused(seen.order, payment.why)
                    return _AT_ONCE
                await asyncio.sleep(_AGAIN_S)
        await self._send(seen)
        return _SOON_S

    async def _send(self, seen: _Seen) -> None:
        """Let lnd pay the inner invoice over the order's channel, and no other."""
        if not seen.synced:
            return
        delta = seen.wrapped.delta
        if seen.invoice.state is not InvoiceState.ACCEPTED or not rules.outlasts(
            seen.invoice, delta=delta, height=seen.height
        ):
            why = "the held payment is gone, or will be too soon"
            await self._refused(seen.order, why)
            return
        channel = await self._interceptor.channel_of(seen.order)
        if channel is None:
            await self._refused(seen.order, "the channel was closed")
            return
        await self._steps.check_held()
        try:
            async with asyncio.timeout(_TOLD_WITHIN_S):
                answer = await self._wrapping.pay(
                    seen.wrapped.inner, channel, cltv_limit=rules.limit_of(delta)
                )
        except TimeoutError:
            self._unread.add(seen.order.id)
            return
        if isinstance(answer, WrapRefused):
            payment = await self._wrapping.payment(seen.wrapped.payment_hash)
            if payment.state in {PaidState.NONE, PaidState.FAILED}:
                await self._refused(seen.order, answer.why)

    async def _settle(self, seen: _Seen, payment: InnerPayment) -> None:
        """Take the payer's money for what the node was paid, and book the fee."""
        if not await self._wrapping.settle(payment.preimage):
            log.error(
                "a node was paid, but its payer's payment is gone",
                extra={"order": seen.order.id},
            )
            await self._steps.lose(seen.order, payment.msat)
            return
        if not jit.may(seen.order, JitEvent.CLAIMED):
            log.error(
                "a payment was settled, and its fee is not booked: the database is "
                "older than the payment",
                extra={"order": seen.order.id},
            )
            return
        received = await self._wrapping.find(seen.wrapped.payment_hash)
        earned = received.msat - payment.msat
        part = replace(rules.part_of(seen.order), take_msat=earned)
        await self._steps.earn(seen.order, [part], {part.circuit: earned})

    async def _refused(self, order: JitOrder, why: str) -> None:
        """Store that the inner invoice certainly is not paid, nor will be."""
        log.warning(
            "a just-in-time channel was opened for nothing",
            extra={
                "order": order.id,
                "channel_point": order.channel_point,
                "why": why,
            },
        )
        await self._steps.turn_back(order, JitEvent.REFUSED)

    async def _cancel(self, seen: _Seen) -> float:
        """Cancel the hold invoice, unless the node was paid after all."""
        # A database that was restored may know nothing of that payment.
        payment = await self._wrapping.payment(seen.wrapped.payment_hash)
        if payment.state is PaidState.IN_FLIGHT:
            return _OPEN_S
        if payment.state is PaidState.SUCCEEDED:
            await self._settle(seen, payment)
        else:
            await self._wrapping.cancel(seen.wrapped.payment_hash)
        return _AT_ONCE
