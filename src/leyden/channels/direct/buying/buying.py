"""The path from a paid order to a channel that is bought from another LSP.

1. Order the channel at the LSP, and check what it names: the invoice is decoded by our
   own lnd, and its price compared with the quote. Store that.
2. In one transaction, if budget and payment allow it, move the order to `submitted` and
   the purchase to `paying`. Then tell lnd to pay.
3. Ask lnd until it is known how that ended. A lost answer is no answer: the payment is
   asked for, and told to lnd again if lnd has none with this hash, which pays it once.
   A refusal is an answer once the invoice has expired.
4. A failed payment fails the order, whose own payment is handed back. A payment that
   succeeded is booked, and the customer's payment is settled: from here on the money
   is gone.
5. Ask the LSP until it names a channel, and the chain until a block has that. Then the
   order is `filled`. If none comes for three days, or the LSP says so, the customer is
   credited, and the operator gets an alarm: the loss is the operator's.

The customer's held payment is also settled when its HTLC is about to expire while ours
may still succeed. If ours then fails, the customer is credited.
"""

import logging
from datetime import datetime, timedelta
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.base.rules.times import to_iso
from leyden.base.rules.units import Sats
from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.direct import filling
from leyden.channels.direct.base import Lsp, Payer, PayerNode, WrapRefused
from leyden.channels.direct.buying import lsp_source
from leyden.channels.direct.rules import purchases
from leyden.channels.direct.rules.purchases import (
    LOST_AFTER,
    LOST_AFTER_BLOCKS,
    SHORTEST,
    LspPurchase,
    LspPurchaseStatus,
    LspRefused,
    LspState,
    PurchaseEvent,
    advance,
)
from leyden.channels.direct.rules.wrapped import InnerPayment, PaidState
from leyden.channels.holding import entry, hand_back, settle
from leyden.channels.refunds import refund
from leyden.channels.rules import ledger, orders
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.ledger import Reason
from leyden.channels.rules.orders import Order, OrderEvent
from leyden.channels.rules.payments import Outpoint
from leyden.channels.services import ChannelServices
from leyden.channels.unit_of_work import UnitOfWork
from leyden.errors import SellerAway
from leyden.values import replace

log = logging.getLogger(__name__)

_SOON: Final = timedelta(seconds=1)
_RETRY_AFTER: Final = timedelta(seconds=5)
_LONGEST_PAUSE: Final = timedelta(minutes=5)
_PAUSES: Final = 30  # an age is divided by this
_FOUND_AGAIN_WITHIN: Final = timedelta(hours=1)
_MSAT: Final = 1_000
# What lnd's clock may differ from ours by.
_SKEW: Final = timedelta(minutes=10)


async def buy(channels: ChannelServices, due: ClaimedTask, order: Order) -> None:
    """Advance a paid order of another LSP's channel by one step."""
    purchase = await channels.database.reader.purchases.find(order.id)
    if purchase is None:
        raise SellerAway(why=f"the order {order.id} has no purchase")
    step = _Step(channels, due, order, purchase)
    try:
        await step.take()
    except SellerAway as error:
        log.warning("a purchase waits", extra={"order": order.id, "why": str(error)})
        await step.wait()


class _Step:
    """One step of one purchase."""

    def __init__(
        self,
        channels: ChannelServices,
        due: ClaimedTask,
        order: Order,
        purchase: LspPurchase,
    ) -> None:
        self._channels, self._due = channels, due
        self._order, self._purchase = order, purchase
        self._reader = channels.database.reader
        self._rules = channels.rules

    async def take(self) -> None:
        match self._purchase.status:
            case LspPurchaseStatus.WANTED:
                await self._place()
            case LspPurchaseStatus.ORDERED:
                await self._start()
            case LspPurchaseStatus.PAYING:
                await self._follow()
            case LspPurchaseStatus.PAID:
                await self._look_for_channel()
            case _:
                await refund(self._channels, self._due, self._order)

    async def wait(self) -> None:
        """Wait; while nothing is paid, the order can be cancelled, and may be over."""
        if self._purchase.status is LspPurchaseStatus.PAYING:
            await self._secure(await self._treasury_height())
            return
        if self._purchase.status not in _UNASKED:
            await self._look_again()
            return
        order = await self._reader.orders.get(self._order.id)
        # An order with an invoice is given up by `_start`, which asks lnd before: a
        # restored database may not know of a payment.
        if (
            self._purchase.status is LspPurchaseStatus.WANTED
            and order.status in filling.NOT_ASKED
            and filling.waited_long(self._channels, order)
        ):
            await self._give_up("nobody sold it in time")
            return
        pause = self._pause(order.paid_at or order.created, _RETRY_AFTER)
        await self._wait_unasked(pause)

    async def _wait_unasked(
        self, pause: timedelta, found: Finding | None = None
    ) -> None:
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            order = work.order(self._order.id)
            if order.may(OrderEvent.UNREACHED):
                work.move(orders.advance(order, OrderEvent.UNREACHED))
            if found:
                work.report(found)
            await work.flush(tx)
            await self._due.reschedule(tx, due=work.now + pause)

    # Before anything is paid.

    async def _place(self) -> None:
        """Order the channel at the LSP, and store what it asks for."""
        order = await filling.look_up_payment(self._channels, self._order)
        if order.purchase_unknown:
            await self._wait_for_operator()
            return
        payer, node = await lsp_source.ready(self._channels)
        answer = await self._lsp().order(order.quote.channel)
        if isinstance(answer, LspRefused):
            log.warning(
                "an LSP refuses an order",
                extra={"order": order.id, "why": answer.why},
            )
            await self.wait()
            return
        if not answer.invoice:
            raise purchases.away("returned an order without a Lightning invoice")
        decoded = await payer.decode(answer.invoice)
        if isinstance(decoded, WrapRefused):
            await self._give_up(f"the LSP's invoice is not valid: {decoded.why}")
            return
        limits = self._rules.buying
        why = purchases.why_not(
            answer,
            decoded,
            order.quote,
            routing_ppm=limits.routing_ppm,
            now=self._channels.clock(),
        )
        began = await payer.payment(decoded.payment_hash)
        if not why and (
            began.state is not PaidState.NONE
            or await self._reader.purchases.has_hash(decoded.payment_hash)
        ):
            why = "its invoice is not new"
        if why:
            await self._give_up(why)
            return
        after = advance(
            self._purchase,
            PurchaseEvent.ORDERED,
            lsp_order=answer.id,
            invoice=answer.invoice,
            payment_hash=decoded.payment_hash,
            price=answer.price,
            routing_limit=purchases.routing_limit(answer.price, limits.routing_ppm),
            expires=decoded.expires,
            height=node.height,
        )
        await self._save(after)

    async def _wait_for_operator(self) -> None:
        """Neither buy nor hand back: a channel was, or may have been, bought."""
        order = self._order
        log.error(
            "an order is paid, and its purchase unknown", extra={"order": order.id}
        )
        found = Finding(
            kind=AlarmKind.PURCHASE_UNKNOWN,
            subject=order.id,
            what=f"order {order.id}: its payment of {order.to_be_paid:,} sat is "
            "settled, but its purchase is not in the database, which was restored. "
            f"Compare it with the payments to {order.quote.source} of the lnd that "
            f"pays, since {to_iso(order.created)}, and with the channels of "
            f"{order.quote.channel.node_key}. Then end it with `leyden orders "
            "abandon`: its price becomes credit. If the channel was bought, take that "
            "back with `leyden orgs credit correct --kind debit`",
            lasts=_FOUND_AGAIN_WITHIN,
        )
        await self._wait_unasked(_LONGEST_PAUSE, found)

    async def _start(self) -> None:
        """Store that it is being paid for; the next step tells lnd."""
        purchase, order = self._purchase, self._order
        payer, node = await lsp_source.ready(self._channels)
        # lnd had no payment with this hash when it was stored. So it is ours, of a time
        # that a restored database does not know.
        began = await payer.payment(purchase.payment_hash)
        is_ours = began.state in {PaidState.IN_FLIGHT, PaidState.SUCCEEDED}
        left = purchase.expires - self._channels.clock() if purchase.expires else None
        if not is_ours and (left is None or left < SHORTEST):
            await self._save(advance(purchase, PurchaseEvent.LAPSED))
            return
        if not is_ours and (why := await self._why_over(order, node)):
            await self._give_up(why)
            return
        looked_up = await filling.look_up_payment(self._channels, order)
        if looked_up.held_htlc != order.held_htlc:
            await filling.reschedule(self._channels, self._due, timedelta(0))
            return
        if not await self._submit(node, is_paid=is_ours):
            await self.wait()

    async def _why_over(self, order: Order, node: PayerNode) -> str:
        """Return why no channel can be bought for the order; "" if one can."""
        held = await self._reader.ledger.balance(ledger.held(order.id))
        if held < order.total_fee:
            return "its payment is no longer held"
        if filling.lock_left(order, node.height) < self._rules.lock_left:
            return "the payment's HTLC expires too soon"
        if filling.waited_long(self._channels, order):
            return "nobody sold it in time"
        return ""

    async def _submit(self, node: PayerNode, *, is_paid: bool) -> bool:
        """Move order and purchase on, if they stand there.

        The budget must allow it, and no other channel to the node be under way, unless
        it is paid.
        """
        channels = self._channels
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            order = work.order(self._order.id)
            if order.status not in filling.NOT_ASKED:
                return False
            await tx.purchases.lock()  # so that no other one is counted meanwhile
            peer = order.quote.channel.node_key
            cost = Sats(self._purchase.price + self._purchase.routing_limit)
            if not is_paid and (
                await tx.orders.is_opening_to(peer, but=order.id)
                or not await lsp_source.is_within_budget(
                    tx, channels, cost, now=work.now
                )
            ):
                return False
            work.move(orders.advance(order, OrderEvent.ASKED))
            after = advance(
                self._purchase,
                PurchaseEvent.STARTED,
                payer=node.pubkey,
                began=work.now,
            )
            await tx.purchases.save(self._purchase, after)
            await work.flush(tx)
            await self._due.reschedule(tx, due=work.now)
        return True

    async def _give_up(self, why: str) -> None:
        log.warning("no channel is bought", extra={"order": self._order.id, "why": why})
        await refund(self._channels, self._due, self._order)

    # While it is being paid.

    async def _follow(self) -> None:
        """Pay, until it is known that it was paid, or can't be."""
        purchase = self._purchase
        payer, node = await self._same_payer()
        payment = await payer.payment(purchase.payment_hash)
        match payment.state:
            case PaidState.SUCCEEDED:
                await self._book_paid(payment)
            case PaidState.FAILED if purchase.asked <= 1 or self._is_over():
                await self._refused(payment.why)
            case PaidState.NONE if self._is_safe(node.height):
                await self._send(payer)
            case _:
                await self._secure(node.height)

    async def _send(self, payer: Payer) -> None:
        """Have lnd pay, maybe again; an expired invoice it certainly refuses.

        Until then, an earlier request may still arrive at lnd, whatever it says of this
        one: it pays anew what has failed.
        """
        purchase, is_over = self._purchase, self._is_over()
        order = await filling.look_up_payment(self._channels, self._order)
        held = await self._reader.ledger.balance(ledger.held(order.id))
        if held < order.total_fee and not is_over:
            await self._look_again()
            return
        async with self._due.transaction() as tx:
            await tx.purchases.save(
                purchase, replace(purchase, asked=purchase.asked + 1)
            )
        refused = await payer.pay(purchase.invoice, fee_limit=purchase.routing_limit)
        if refused is not None:
            payment = await payer.payment(purchase.payment_hash)
            if payment.state is PaidState.NONE:
                await self._refuse_once(refused.why, is_over=is_over)
                return
        await filling.reschedule(self._channels, self._due, _SOON)

    async def _refuse_once(self, why: str, *, is_over: bool) -> None:
        if is_over:
            await self._refused(why)
            return
        log.warning("lnd refuses to pay", extra={"order": self._order.id, "why": why})
        await self._look_again()

    def _is_over(self) -> bool:
        """Return whether lnd certainly finds the invoice expired."""
        expires = self._purchase.expires
        return expires is not None and expires + _SKEW <= self._channels.clock()

    def _is_safe(self, height: int) -> bool:
        """Return whether the customer's payment is held long enough, or not at all."""
        return filling.lock_left(self._order, height) >= self._rules.lock_left

    async def _treasury_height(self) -> int:
        """Return the height for when the lnd that pays is away; 0 if unknown."""
        treasury = self._channels.treasury
        return (await treasury.holdings()).height if treasury else 0

    async def _secure(self, height: int) -> None:
        """Settle the customer's payment before it expires, as ours may succeed."""
        order = self._order
        if self._is_safe(height):
            await self._look_again()
            return
        settled = await self._settle()
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            _receive(work, work.order(order.id), settled=settled)
            await work.flush(tx)
            await self._due.reschedule(tx, due=work.now + _SOON)

    async def _book_paid(self, payment: InnerPayment) -> None:
        """Settle the customer's payment, and book what ours cost."""
        purchase = self._purchase
        settled = await self._settle()
        paid = -(-payment.msat // _MSAT)
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            after = advance(
                purchase,
                PurchaseEvent.PAID,
                routing_fee=Sats(max(0, paid - purchase.price)),
                paid_at=work.now,
            )
            order = _receive(work, work.order(self._order.id), settled=settled)
            work.post(
                [
                    entry(
                        order,
                        after.cost,
                        source=ledger.PURCHASES,
                        target=ledger.LSPS,
                        what=Reason.AUCTION,
                        key=after.key,
                    )
                ]
            )
            await tx.purchases.save(purchase, after)
            await work.flush(tx)
            await self._due.reschedule(tx, due=work.now)

    async def _refused(self, why: str) -> None:
        """Store that nothing was paid, nor will be; the next step hands back."""
        log.warning("an LSP was not paid", extra={"order": self._order.id, "why": why})
        await self._save(advance(self._purchase, PurchaseEvent.REFUSED))

    # Once it is paid.

    async def _look_for_channel(self) -> None:
        purchase, lsp = self._purchase, self._lsp()
        payer, node = await self._same_payer()
        since = purchase.paid_at or self._channels.clock()
        is_late = (
            self._channels.clock() - since >= LOST_AFTER
            and node.height - purchase.height >= LOST_AFTER_BLOCKS
        )
        try:
            found = await lsp.find(purchase.lsp_order)
        except SellerAway:
            if not is_late:
                raise
            await self._lose("does not answer")
            return
        point = found.channel
        if (
            found.state is LspState.COMPLETED
            and point
            and await self._has(payer, point)
        ):
            await self._fill(point, node)
        elif found.state is LspState.FAILED:
            await self._lose("says that it failed")
        elif is_late:
            await self._lose("says that it is " + found.state.value.lower())
        else:
            await self._look_again()

    async def _has(self, payer: Payer, point: Outpoint) -> bool:
        """Return whether the chain has a channel that may be this order's."""
        capacity = self._order.quote.channel.capacity
        sats = await payer.output_sats(point, since=self._purchase.height)
        if sats is not None and sats < capacity:
            log.error(
                "an LSP names a channel that is too small",
                extra={"order": self._order.id, "channel_point": str(point)},
            )
            return False
        return sats is not None and not await self._reader.purchases.has_channel(
            str(point)
        )

    async def _fill(self, point: Outpoint, node: PayerNode) -> None:
        purchase, order = self._purchase, self._order
        lease = Lease(
            channel_point=str(point),
            premium=purchase.price,
            execution_fee=Sats(0),
            chain_fee=purchase.routing_fee,
            self_chan_balance=Sats(0),
            node=order.quote.channel.node_key,
            peer=purchase.uri.partition("@")[0],
            height=node.height,
        )
        after = advance(purchase, PurchaseEvent.DELIVERED, channel_point=str(point))
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            await tx.purchases.save(purchase, after)
            filling.book(
                work,
                work.order(order.id),
                lease,
                settled=False,
                account=ledger.PURCHASES,
            )
            await work.flush(tx)
            await self._due.done(tx)

    async def _lose(self, says: str) -> None:
        """Store that the money is lost; the next step credits the customer."""
        purchase = self._purchase
        log.error("an LSP was paid for nothing", extra={"order": self._order.id})
        found = Finding(
            kind=AlarmKind.PURCHASE_LOST,
            subject=self._order.id,
            what=f"order {self._order.id}: {purchase.cost:,} sat were paid to "
            f"{self._order.quote.source} for its order {purchase.lsp_order}, and it "
            f"{says}; no channel is in the chain. Your customer is credited; ask "
            f"that LSP for your money, with the payment hash {purchase.payment_hash}",
        )
        async with self._due.transaction() as tx:
            await tx.purchases.save(purchase, advance(purchase, PurchaseEvent.LOST))
            await tx.findings.add([found], now=self._channels.clock())
            await self._due.reschedule(tx, due=self._channels.clock())

    # What steps have in common.

    def _lsp(self) -> Lsp:
        return self._channels.lsps.at(self._order.quote.source)

    async def _same_payer(self) -> tuple[Payer, PayerNode]:
        """Return the lnd that pays this purchase; another one knows nothing of it."""
        payer, node = await lsp_source.ready(self._channels)
        if node.pubkey != self._purchase.payer:
            raise SellerAway(
                why=f"the lnd that pays other LSPs is {node.pubkey}, but "
                f"{self._purchase.payer} may have paid for order {self._order.id}"
            )
        return payer, node

    async def _settle(self) -> bool:
        order = await filling.look_up_payment(self._channels, self._order)
        request = order.payment_request
        if not order.held_htlc or request is None:
            return False
        return await self._channels.payments.settle(request)

    async def _look_again(self) -> None:
        """Ask again, less and less often."""
        since = self._purchase.paid_at or self._purchase.began
        pause = self._pause(since or self._channels.clock(), _SOON)
        await filling.reschedule(self._channels, self._due, pause)

    def _pause(self, since: datetime, least: timedelta) -> timedelta:
        age = self._channels.clock() - since
        return min(max(least, age / _PAUSES), _LONGEST_PAUSE)

    async def _save(self, after: LspPurchase) -> None:
        """Store a step that changes the purchase alone; the next one is due."""
        async with self._due.transaction() as tx:
            await tx.purchases.save(self._purchase, after)
            await self._due.reschedule(tx, due=self._channels.clock())

    async def _load(self, tx: Stores) -> UnitOfWork:
        return await UnitOfWork.load(
            tx, [self._order.id], now=self._channels.clock(), lock_organizations=True
        )


_UNASKED: Final = frozenset({LspPurchaseStatus.WANTED, LspPurchaseStatus.ORDERED})


def _receive(work: UnitOfWork, order: Order, *, settled: bool) -> Order:
    """Book the customer's held payment as received, or as gone."""
    if not order.held_htlc:
        return order
    return settle(work, order) if settled else hand_back(work, order)
