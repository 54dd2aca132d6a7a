"""Follow wrapped invoices: one task for each order that has something to do.

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
import logging
from typing import Final

from leyden.channels.direct.base import Purse, Wrapping, WrapRefused
from leyden.channels.direct.jit import purse as purses
from leyden.channels.direct.jit.interceptor import Interceptor
from leyden.channels.direct.jit.steps import Steps
from leyden.channels.direct.jit.watch import Watch
from leyden.channels.direct.rules import jit
from leyden.channels.direct.rules import wrapped as rules
from leyden.channels.direct.rules.jit import (
    JitChannel,
    JitEvent,
    JitOrder,
    JitStatus,
    Payment,
)
from leyden.channels.direct.rules.openings import SellerWallet
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

_BUSY_S: Final = 0.1
_AGAIN_S: Final = 0.3  # lnd has no route yet
_OPEN_S: Final = 0.5  # somebody may pay
_IDLE_S: Final = 1.0
_FRESH_S: Final = 0.5


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
        """Start a step for each order that has one; return the pause."""
        await self._book_costs()
        found = await self._reader.wrapped_invoices.open()
        if not found:
            return _IDLE_S
        wallet = await self._wallet.get(fresh_s=_FRESH_S)
        pending = await self._wrapping.pending()
        for each in found:
            order = await self._reader.jit_orders.find(each.order_id)
            if order is None or order.purse != wallet.pubkey or order.id in self._busy:
                continue
            if self._is_waiting(order, pending.get(each.payment_hash)):
                continue
            self._busy.add(order.id)
            group.create_task(self._serve(each, order, wallet))
        return _BUSY_S if self._busy else _OPEN_S

    def _is_waiting(self, order: JitOrder, invoice: HoldInvoice | None) -> bool:
        """Return whether nobody has paid the order, which still can be."""
        return (
            invoice is not None
            and invoice.state is InvoiceState.OPEN
            and order.status is JitStatus.SOLD
            and self._channels.clock() < order.valid_until
        )

    async def _serve(
        self, wrapped: WrappedInvoice, order: JitOrder, wallet: SellerWallet
    ) -> None:
        """Take one step; whatever is not known is asked again in a moment."""
        try:
            invoice = await self._wrapping.find(wrapped.payment_hash)
            if invoice.state is InvoiceState.MISSING and wrapped.wrapped:
                # lnd deletes cancelled invoices, if it is told to.
                invoice = HoldInvoice(state=InvoiceState.CANCELLED)
            await self._step(
                _Seen(
                    order=order,
                    wrapped=wrapped,
                    invoice=invoice,
                    height=wallet.height,
                    synced=wallet.synced,
                    online=order.peer in wallet.peers,
                )
            )
        except (Away, Stale) as error:
            log.warning(
                "a wrapped invoice waits", extra={"order": order.id, "why": str(error)}
            )
            await asyncio.sleep(_OPEN_S)
        except Exception:
            log.exception("a wrapped invoice waits", extra={"order": order.id})
            await asyncio.sleep(_OPEN_S)
        finally:
            self._busy.discard(order.id)

    async def _step(self, seen: _Seen) -> None:
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
            case WrapStep.PAY:
                await self._pay(seen)
            case WrapStep.FOLLOW:
                await self._follow(seen)
            case WrapStep.CANCEL:
                await self._cancel(seen)
            case WrapStep.RETURN:
                await self._steps.turn_back(order, JitEvent.RETURNED)
            case WrapStep.LAPSE:
                await self._steps.lapse([order])
            case WrapStep.CLOSE:
                await self._steps.close_wrapped(order)
            case _:
                await self._open(seen, step)

    # Before the channel: as for LSPS2.

    async def _open(self, seen: _Seen, step: WrapStep) -> None:
        """Store that a payment is held, reserve coins, open the channel or find it."""
        order, now = seen.order, self._channels.clock()
        is_new = step is WrapStep.HOLD
        payment = Payment(
            payment_hash=seen.wrapped.payment_hash,
            amount_msat=seen.invoice.msat,
            since=now if is_new else order.held_at,
            height=seen.height if is_new else order.held_height,
        )
        match step:
            case WrapStep.HOLD:
                await self._steps.hold(order, payment)
            case WrapStep.OPEN:
                await self._interceptor.reserve(order, payment)
            case WrapStep.FIND:
                await self._interceptor.open(order)
            case WrapStep.LOOK:
                await self._watch.end_unheld(order, now)

    async def _book_costs(self) -> None:
        for order_id in await self._reader.wrapped_invoices.without_cost():
            order = await self._reader.jit_orders.find(order_id)
            if order is not None and order.channel_point:
                await self._watch.end_unheld(order, self._channels.clock())

    # With the channel.

    async def _channel_of(self, order: JitOrder) -> JitChannel | None:
        channels = await self._purse.forwarding.channels()
        return next((each for each in channels if each.order_id == order.id), None)

    async def _pay(self, seen: _Seen) -> None:
        """Store that the inner invoice is being paid; the next step does it."""
        channel = await self._channel_of(seen.order)
        if channel is None or not channel.active or not seen.synced:
            return
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
            return
        await self._steps.resume(seen.order, [rules.part_of(seen.order)])

    async def _follow(self, seen: _Seen) -> None:
        """Pay, until it is known that the inner invoice is paid, or can't be."""
        payment = await self._wrapping.payment(seen.wrapped.payment_hash)
        match payment.state:
            case PaidState.SUCCEEDED:
                await self._settle(seen, payment)
            case PaidState.IN_FLIGHT:
                await asyncio.sleep(_OPEN_S)
            case PaidState.NONE:
                await self._send(seen)
            case PaidState.FAILED:
                if payment.why not in rules.RETRIED or rules.is_over(
                    seen.order, now=self._channels.clock(), height=seen.height
                ):
                    await self._refused(seen.order, payment.why)
                    return
                await asyncio.sleep(_AGAIN_S)
                await self._send(seen)

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
        channel = await self._channel_of(seen.order)
        if channel is None:
            await self._refused(seen.order, "the channel was closed")
            return
        await self._steps.check_held()
        answer = await self._wrapping.pay(
            seen.wrapped.inner, channel, cltv_limit=rules.limit_of(delta)
        )
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

    async def _cancel(self, seen: _Seen) -> None:
        """Cancel the hold invoice, unless the node was paid after all."""
        # A database that was restored may know nothing of that payment.
        payment = await self._wrapping.payment(seen.wrapped.payment_hash)
        if payment.state is PaidState.SUCCEEDED:
            await self._settle(seen, payment)
        elif payment.state is not PaidState.IN_FLIGHT:
            await self._wrapping.cancel(seen.wrapped.payment_hash)
