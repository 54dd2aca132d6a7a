"""The path from a paid direct order to its channel.

1. The seller is looked at first: a channel whose memo is the order's id, or coins of
   the order that an opening has locked. Whatever died before, one of them is found.
2. The buyer's node is connected, or the order is `created` and waits for that.
3. In one transaction the order becomes `submitted`, if the limits allow it and the
   seller opens no other channel to that node. Then the seller is asked.
4. Once the channel is *published* the held payment is settled.
5. In one transaction that is booked, and the order is `filled`.

A refusal counts only after another look shows that nothing is under way. What was
signed and is not published is neither settled nor cancelled, until the payer's lock
gets too short: then the payment goes back, and the worst is a channel given away.
"""

import logging
from datetime import timedelta

from leyden.domain import ledger, pricing
from leyden.domain.destinations import Destination
from leyden.domain.ledger import Reason
from leyden.domain.openings import (
    Coin,
    Opening,
    OpeningRefused,
    OpeningState,
    SellerWallet,
)
from leyden.domain.orders import ENDED, Event, Order, Status, advance
from leyden.domain.tickets import Lease
from leyden.domain.units import Sats
from leyden.errors import SellerAway
from leyden.sellers.base import Seller, WantedOpening
from leyden.services.channels import reservations
from leyden.services.channels.filling import fill
from leyden.services.channels.holding import credit, hand_back, settle
from leyden.services.channels.refunds import refund
from leyden.services.channels.shop import Shop
from leyden.services.channels.unit_of_work import UnitOfWork
from leyden.services.shared.steps import ClaimedTask
from leyden.storage.stores import Stores

log = logging.getLogger(__name__)

_WAITS = {Status.CREATING, Status.CREATED}
_AGAIN = timedelta(seconds=5)


async def open_channel(shop: Shop, due: ClaimedTask) -> None:
    """Take a paid direct order nearer to its channel; called until it has ended."""
    order = await shop.database.reader.orders.get(due.key)
    if order.status in ENDED or order.status is Status.WAITING_PAYMENT:
        return
    try:
        await _Step(shop, due, order).take()
    except SellerAway as error:
        log.warning(
            "unknown whether the seller opened a channel",
            extra={"order": order.id, "why": str(error)},
        )
        current = await shop.database.reader.orders.get(due.key)
        # Nothing was asked for: without a seller it is as if the node never came.
        if current.status in _WAITS and _waited_long(shop, current):
            await refund(shop, due, current)
        else:
            await _later(shop, due, _AGAIN)


class _Step:
    """One order, looked at once."""

    def __init__(self, shop: Shop, due: ClaimedTask, order: Order) -> None:
        if shop.seller is None:
            raise SellerAway(why="no seller is configured any more", retry_after_s=60)
        self._shop, self._due, self._order = shop, due, order
        self._to = order.destination or Destination(pubkey="")
        self._seller: Seller = shop.seller
        self._rules = shop.rules
        self._seller_key = ""
        self._coins: list[Coin] = []

    async def take(self) -> None:
        coins = await self._shop.database.reader.reserved_coins.of_order(self._order.id)
        self._coins = coins
        wallet = await reservations.look(self._shop)
        self._seller_key = wallet.pubkey
        opening = await self._seller.find(self._order.id, coins)
        if opening.state is OpeningState.NONE:
            if not await self._may_ask(wallet):
                return
            asked = WantedOpening(
                order_id=self._order.id,
                pubkey=self._to.pubkey,
                capacity=self._order.quote.channel.capacity,
                announce=self._to.announce,
                coins=tuple(coins),
                fee_sat_per_vb=wallet.fee_sat_per_vb,
                zero_conf=self._to.zero_conf,
            )
            answer = await self._seller.open(asked)
            if isinstance(answer, OpeningRefused):
                opening = await self._seller.find(self._order.id, coins)
                if opening.state is OpeningState.NONE:
                    await self._refused(answer)
                    return
            else:
                opening = answer
        match opening.state:
            case OpeningState.PUBLISHED:
                await self._fill(opening)
            case OpeningState.UNPUBLISHED:
                await self._unpublished(opening, wallet)
            case _:
                await self._wait_for(opening)

    # Before the seller is asked.

    async def _may_ask(self, wallet: SellerWallet) -> bool:
        """Bring the order to `submitted`; otherwise say when to look again, or end."""
        order, shop = self._order, self._shop
        held = await shop.database.reader.ledger.balance(ledger.held(order.id))
        if held < order.total_fee:
            return await self._give_up("its payment is not held any more")
        if _lock_left(order, wallet.height) < self._rules.lock_left:
            return await self._give_up("the payment's HTLC expires too soon")
        if _waited_long(shop, order):
            return await self._give_up("the node was not connected in time")
        if wallet.fee_sat_per_vb > order.quote.highest_fee_sat_per_vb:
            log.warning(
                "chain fees are above the order's maximum",
                extra={"order": order.id, "sat_per_vb": wallet.fee_sat_per_vb},
            )
            return await self._look_again(timedelta(seconds=30))
        to = order.destination
        addresses = []
        if to is not None:
            addresses = await shop.dialing.addresses(to, order.organization_id)
        if not await self._seller.connect(self._to.pubkey, addresses):
            return await self._unreached()
        return order.status is Status.SUBMITTED or await self._submit()

    async def _submit(self) -> bool:
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            order = work.order(self._order.id)
            if order.status not in _WAITS:
                await self._due.reschedule(tx, due=work.now)
                return False
            asked = await tx.orders.asked_for(self._to.pubkey, but=order.id)
            opened = await tx.orders.asked_since(work.now - reservations.HOUR)
            most = self._rules.seller_most_per_hour
            if asked or opened + order.quote.channel.capacity > most:
                await self._due.reschedule(tx, due=work.now + self._rules.peer_every)
                return False
            self._order = work.move(advance(order, Event.ASKED))
            await work.flush(tx)
        return True

    async def _unreached(self) -> bool:
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            order = work.order(self._order.id)
            if order.may(Event.UNREACHED):
                work.move(advance(order, Event.UNREACHED))
            await work.flush(tx)
            await self._due.reschedule(tx, due=work.now + self._rules.peer_every)
        return False

    async def _give_up(self, why: str) -> bool:
        log.warning("no channel is opened", extra={"order": self._order.id, "why": why})
        await refund(self._shop, self._due, self._order)
        return False

    async def _look_again(self, pause: timedelta) -> bool:
        await _later(self._shop, self._due, pause)
        return False

    # After it was asked.

    async def _refused(self, refused: OpeningRefused) -> None:
        if refused.offline:
            await self._unreached()
        else:
            await self._give_up(refused.why)

    async def _wait_for(self, opening: Opening) -> None:
        """Wait for a peer that has not answered; the opening is known to be ours."""
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            order = work.order(self._order.id)
            if order.status in _WAITS:
                order = work.move(advance(order, Event.ASKED))
            if opening.channel_point and not order.channel_point:
                work.change(order.with_changes(channel_point=opening.channel_point))
            await work.flush(tx)
            await self._due.reschedule(tx, due=work.now + self._rules.opening_every)

    async def _unpublished(self, opening: Opening, wallet: SellerWallet) -> None:
        order = self._order
        left = _lock_left(order, wallet.height)
        log.error(
            "a channel is signed but its transaction is not published",
            extra={"order": order.id, "channel_point": opening.channel_point},
        )
        if order.status is Status.SUBMITTED and left < self._rules.lock_left:
            log.error(
                "returning the payment; a channel may open without payment",
                extra={"order": order.id, "channel_point": opening.channel_point},
            )
            await refund(self._shop, self._due, order)
        else:
            await self._wait_for(opening)

    async def _fill(self, opening: Opening) -> None:
        """Settle the payment of a published channel, and book both."""
        order = self._order
        settled = not order.held_htlc or await self._settle(order)
        if not settled:
            log.error(
                "a channel was opened without payment: the payment was gone before "
                "publication",
                extra={"order": order.id, "channel_point": opening.channel_point},
            )
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            current = work.order(order.id)
            if current.held_htlc != order.held_htlc:
                await self._due.reschedule(tx, due=work.now)
                return
            filled = current.status not in ENDED
            if filled:
                _book(work, current, self._lease(current, opening), settled=settled)
            await work.flush(tx)
            if filled:
                await tx.fundings.add(order.id, self._coins, since=opening.height)
            await self._due.done(tx)

    async def _settle(self, order: Order) -> bool:
        request = order.payment_request
        return request is not None and await self._shop.payments.settle(request)

    def _lease(self, order: Order, opening: Opening) -> Lease:
        channel = order.quote.channel
        at_rate = pricing.premium(
            channel.capacity, order.quote.rate_fixed, channel.lease_duration_blocks
        )
        most = Sats(order.quote.pool_fee - at_rate)
        return Lease(
            channel_point=opening.channel_point,
            premium=at_rate,
            execution_fee=Sats(0),
            chain_fee=most if opening.fee is None else opening.fee,
            self_chan_balance=Sats(0),
            node=self._to.pubkey,
            peer=self._seller_key,
            height=opening.height,
        )

    async def _load(self, tx: Stores) -> UnitOfWork:
        return await UnitOfWork.load(
            tx, [self._order.id], now=self._shop.clock(), gives_back=True
        )


def _book(work: UnitOfWork, order: Order, lease: Lease, *, settled: bool) -> None:
    if order.status in _WAITS:
        order = work.move(advance(order, Event.ASKED))
    if order.held_htlc:
        order = settle(work, order) if settled else hand_back(work, order)
    credit(
        work,
        order,
        max(0, work.surplus(order)),
        source=ledger.held(order.id),
        what=Reason.SURPLUS,
        key=f"opened:{order.id}:surplus",
    )
    order = work.change(order.with_changes(channel_point=lease.channel_point))
    fill(work, order, lease)


def _lock_left(order: Order, height: int) -> int:
    """Return the blocks for which a held payment is ours; plenty if none is held."""
    return order.htlc_expires - height if order.held_htlc else 2**31


def _waited_long(shop: Shop, order: Order) -> bool:
    since = shop.clock() - (order.paid_at or order.created)
    held = bool(order.held_htlc)
    rules = shop.rules
    return since >= (rules.peer_patience_held if held else rules.peer_patience)


async def _later(shop: Shop, due: ClaimedTask, pause: timedelta) -> None:
    async with due.transaction() as tx:
        await due.reschedule(tx, due=shop.clock() + pause)
