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
from leyden.channels.direct.rules import wrapped as rules
from leyden.channels.direct.rules.jit import (
    Forward,
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
from leyden.values import replace

log = logging.getLogger(__name__)

_BUSY_S: Final = 0.1
_AGAIN_S: Final = 0.3  # lnd has no route yet
_OPEN_S: Final = 0.5  # somebody may pay
_IDLE_S: Final = 1.0
_FRESH_S: Final = 0.5
_FORGOTTEN: Final = 500  # orders at once


class Wrapped:
    """Follows orders of wrapped invoices, in the process that intercepts."""

    def __init__(
        self,
        channels: ChannelServices,
        purse: Purse,
        steps: Steps,
        interceptor: Interceptor,
        watch: Watch,
    ) -> None:
        self._channels, self._purse, self._steps = channels, purse, steps
        self._interceptor, self._watch = interceptor, watch
        self._reader = channels.database.reader
        self._wallet = purses.RecentWallet(channels, purse)
        self._busy: set[str] = set()

    async def run(self) -> None:
        """Look again and again until cancelled."""
        if (wrapping := self._purse.wrapping) is None:
            return
        logged = ""
        async with asyncio.TaskGroup() as group:
            while True:
                pause = _IDLE_S
                try:
                    pause = await self._look(wrapping, group)
                    logged = ""
                except (Away, Stale) as error:
                    if str(error) != logged:
                        logged = str(error)
                        log.warning(
                            "can't follow wrapped invoices", extra={"why": logged}
                        )
                await asyncio.sleep(pause)

    async def _look(self, wrapping: Wrapping, group: asyncio.TaskGroup) -> float:
        """Start a step for each order that has one; return the pause."""
        await self._book_costs()
        found = await self._reader.wrapped_invoices.open()
        if not found:
            return _IDLE_S
        wallet = await self._wallet.get(fresh_s=_FRESH_S)
        pending = await wrapping.pending()
        for each in found:
            order = await self._reader.jit_orders.find(each.order_id)
            if order is None or order.purse != wallet.pubkey or order.id in self._busy:
                continue
            invoice = pending.get(each.payment_hash)
            if (
                invoice is not None
                and invoice.state is InvoiceState.OPEN
                and order.status is JitStatus.SOLD
                and self._channels.clock() < order.valid_until
            ):
                continue
            self._busy.add(order.id)
            group.create_task(self._serve(wrapping, each, order, wallet))
        return _BUSY_S if self._busy else _OPEN_S

    async def _serve(
        self,
        wrapping: Wrapping,
        wrapped: WrappedInvoice,
        order: JitOrder,
        wallet: SellerWallet,
    ) -> None:
        """Take one step; whatever is not known is asked again in a moment."""
        try:
            await self._step(wrapping, wrapped, order, wallet)
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

    async def _step(
        self,
        wrapping: Wrapping,
        wrapped: WrappedInvoice,
        order: JitOrder,
        wallet: SellerWallet,
    ) -> None:
        invoice = await wrapping.find(wrapped.payment_hash)
        if invoice.state is InvoiceState.MISSING and wrapped.wrapped:
            # lnd deletes cancelled invoices, if it is told to.
            invoice = HoldInvoice(state=InvoiceState.CANCELLED)
        now = self._channels.clock()
        step = rules.decide(
            order,
            invoice,
            delta=wrapped.delta,
            online=await self._purse.seller.features(order.peer) is not None,
            now=now,
            height=wallet.height,
        )
        payment = Payment(
            payment_hash=wrapped.payment_hash,
            amount_msat=invoice.msat,
            since=now if step is WrapStep.HOLD else order.held_at,
            height=wallet.height if step is WrapStep.HOLD else order.held_height,
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
            case WrapStep.PAY:
                await self._pay(wrapping, wrapped, order)
            case WrapStep.FOLLOW:
                await self._follow(wrapping, wrapped, order, invoice, wallet)
            case WrapStep.CANCEL:
                await self._cancel(wrapping, wrapped, order)
            case WrapStep.RETURN:
                await self._steps.turn_back(order, JitEvent.RETURNED)
            case WrapStep.LAPSE:
                await self._steps.lapse([order])
            case WrapStep.CLOSE:
                await self._steps.close_wrapped(order)

    async def _pay(
        self, wrapping: Wrapping, wrapped: WrappedInvoice, order: JitOrder
    ) -> None:
        """Store that the inner invoice is being paid; the next step does it."""
        channels = await self._purse.forwarding.channels()
        channel = next((each for each in channels if each.order_id == order.id), None)
        if channel is None or not channel.active:
            return
        if not channel.zero_conf:
            log.error(
                "a wrapped payment goes back: the channel is not zero-conf",
                extra={"order": order.id},
            )
            await self._steps.turn_back(order, JitEvent.RETURNED)
            return
        began = await wrapping.payment(wrapped.payment_hash)
        if began.state is not PaidState.NONE:
            # Not by us: what is to be paid with this hash is not this invoice.
            log.error(
                "a wrapped payment goes back: its payment hash was used before",
                extra={"order": order.id},
            )
            await self._steps.turn_back(order, JitEvent.RETURNED)
            return
        await self._steps.resume(order, [rules.part_of(order)])

    async def _follow(
        self,
        wrapping: Wrapping,
        wrapped: WrappedInvoice,
        order: JitOrder,
        invoice: HoldInvoice,
        wallet: SellerWallet,
    ) -> None:
        """Pay, until it is known that the inner invoice is paid, or can't be."""
        payment = await wrapping.payment(wrapped.payment_hash)
        match payment.state:
            case PaidState.SUCCEEDED:
                await self._settle(wrapping, wrapped, order, payment)
            case PaidState.FAILED if payment.why not in rules.RETRIED:
                await self._refused(order, payment.why)
            case PaidState.FAILED if rules.is_over(
                order, now=self._channels.clock(), height=wallet.height
            ):
                await self._refused(order, payment.why)
            case PaidState.NONE | PaidState.FAILED:
                if payment.state is PaidState.FAILED:
                    await asyncio.sleep(_AGAIN_S)
                await self._send(wrapping, wrapped, order, invoice, wallet)
            case PaidState.IN_FLIGHT:
                await asyncio.sleep(_OPEN_S)

    async def _send(
        self,
        wrapping: Wrapping,
        wrapped: WrappedInvoice,
        order: JitOrder,
        invoice: HoldInvoice,
        wallet: SellerWallet,
    ) -> None:
        """Let lnd pay the inner invoice over the order's channel, and no other."""
        if invoice.state is not InvoiceState.ACCEPTED or not rules.outlasts(
            invoice, delta=wrapped.delta, height=wallet.height
        ):
            await self._refused(order, "the held payment is gone, or will be too soon")
            return
        channels = await self._purse.forwarding.channels()
        channel = next((each for each in channels if each.order_id == order.id), None)
        if channel is None:
            await self._refused(order, "the channel was closed")
            return
        await self._steps.check_held()
        answer = await wrapping.pay(
            wrapped.inner, channel, cltv_limit=rules.limit_of(wrapped.delta)
        )
        if isinstance(answer, WrapRefused):
            payment = await wrapping.payment(wrapped.payment_hash)
            if payment.state in {PaidState.NONE, PaidState.FAILED}:
                await self._refused(order, answer.why)

    async def _settle(
        self,
        wrapping: Wrapping,
        wrapped: WrappedInvoice,
        order: JitOrder,
        payment: InnerPayment,
    ) -> None:
        """Take the payer's money for what the node was paid, and book the fee."""
        if not await wrapping.settle(payment.preimage):
            log.error(
                "a node was paid, but its payer's payment is gone: lnd was away for too "
                "long; the order stays resuming",
                extra={"order": order.id},
            )
            await asyncio.sleep(_IDLE_S)
            return
        received = await wrapping.find(wrapped.payment_hash)
        part = replace(
            rules.part_of(order), take_msat=received.msat - payment.msat
        )
        await self._steps.earn(
            order, [part], {part.circuit: Forward(part.circuit, part.take_msat)}
        )

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

    async def _cancel(
        self, wrapping: Wrapping, wrapped: WrappedInvoice, order: JitOrder
    ) -> None:
        """Give the payer the money back; whoever was paid is not asked to."""
        if order.status is JitStatus.UNPAID:
            payment = await wrapping.payment(wrapped.payment_hash)
            if payment.state is PaidState.SUCCEEDED:
                await self._settle(wrapping, wrapped, order, payment)
                return
            if payment.state is PaidState.IN_FLIGHT:
                return
        await wrapping.cancel(wrapped.payment_hash)

    async def _book_costs(self) -> None:
        for order_id in await self._reader.wrapped_invoices.without_cost():
            order = await self._reader.jit_orders.find(order_id)
            if order is not None and order.channel_point:
                await self._watch.end_unheld(order, self._channels.clock())
