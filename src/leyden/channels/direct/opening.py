"""The path from a paid direct order to its channel.

1. Search the seller's lnd for a channel whose memo is the order's id, or for coins of
   the order that an opening has locked. This finds the channel of an earlier attempt
   whose process died.
2. Reserve coins, if the order reserved none while it was unpaid.
3. Connect to the buyer's node; until that succeeds, the order waits as `created`.
4. Look up a held payment: an earlier attempt may have returned it.
5. In one transaction, move the order to `submitted`, if the limits allow it and the
   seller opens no other channel to that node. Then tell the seller to open the channel.
6. Once the channel is *published*, settle the held payment.
7. In one transaction, book the payment and move the order to `filled`.

A refusal counts only after another search shows that no opening is in progress. For a
while no search can show that: lnd locks the coins of an opening for ten minutes, and
may continue with it for longer. If its response was lost, the order is neither retried
nor ended during that time, even if no opening is found. A channel that is signed but
not published is neither settled nor cancelled, until the payer's HTLC is about to
expire: then the payment is returned, and at worst the channel is given away.
"""

import logging
from datetime import timedelta
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.units import Sats
from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.direct import filling, reservations
from leyden.channels.direct.base import Seller, WantedOpening
from leyden.channels.direct.buying import buying
from leyden.channels.direct.rules.openings import (
    Coin,
    Opening,
    OpeningRefused,
    OpeningState,
    SellerWallet,
)
from leyden.channels.refunds import refund
from leyden.channels.rules import ledger, pricing
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.orders import ENDED, Order, OrderEvent, OrderStatus, advance
from leyden.channels.services import ChannelServices
from leyden.channels.unit_of_work import UnitOfWork
from leyden.errors import SellerAway, SoldOut

log = logging.getLogger(__name__)

_RETRY_AFTER = timedelta(seconds=5)
# lnd locks the coins of an opening for at least this long after the first request.
_LOCKED: Final = timedelta(minutes=9)
# After this time lnd has given up on requests from that period: it gives up ten minutes
# after each of the peer's two messages, and checks once a minute.
_OVER: Final = timedelta(minutes=35)


async def open_channel(channels: ChannelServices, due: ClaimedTask) -> None:
    """Advance a paid direct order by one step; called until the order has ended."""
    order = await channels.database.reader.orders.get(due.key)
    if order.status in ENDED or order.status is OrderStatus.WAITING_PAYMENT:
        return
    if order.quote.source:
        await buying.buy(channels, due, order)
        return
    try:
        await _Step(channels, due, order).take()
    except SellerAway as error:
        log.warning(
            "unknown whether the seller opened a channel",
            extra={"order": order.id, "why": str(error)},
        )
        if not await _give_up_unasked(channels, due):
            await filling.reschedule(channels, due, _RETRY_AFTER)


async def _give_up_unasked(channels: ChannelServices, due: ClaimedTask) -> bool:
    """Refund an order if the seller did not respond for as long as it waits.

    No opening was requested, so this is as if the buyer's node never connected. But a
    database that was restored may not know of one: look up the payment first. If it
    was settled, so was its channel published, and only the seller can tell.
    """
    order = await channels.database.reader.orders.get(due.key)
    if order.status not in filling.NOT_ASKED or not filling.waited_long(
        channels, order
    ):
        return False
    order = await filling.look_up_payment(channels, order)
    if not filling.waited_long(channels, order):
        return False
    await refund(channels, due, order)
    return True


class _Step:
    """One step of one order."""

    def __init__(
        self, channels: ChannelServices, due: ClaimedTask, order: Order
    ) -> None:
        if channels.seller is None:
            raise SellerAway(why="no seller is configured now", retry_after_s=60)
        self._channels, self._due, self._order = channels, due, order
        self._channel = order.quote.channel
        self._seller: Seller = channels.seller
        self._rules = channels.rules
        self._seller_key = ""
        self._coins: list[Coin] = []

    async def take(self) -> None:
        reader = self._channels.database.reader
        self._coins = await reader.reserved_coins.of_order(self._order.id)
        wallet = await reservations.read_wallet(self._channels)
        self._seller_key = wallet.pubkey
        opening = await self._seller.find(self._order.id, self._coins)
        if opening.state is OpeningState.NONE:
            if not await self._prepare(wallet):
                return
            request = WantedOpening(
                order_id=self._order.id,
                pubkey=self._channel.node_key,
                capacity=self._channel.capacity,
                announce=self._channel.announce,
                coins=tuple(self._coins),
                fee_sat_per_vb=wallet.fee_sat_per_vb,
                zero_conf=self._channel.zero_conf,
            )
            # Else another process may have returned the payment by now.
            await reader.tasks.check_held(self._due.claim)
            answer = await self._seller.open(request)
            if isinstance(answer, OpeningRefused):
                opening = await self._seller.find(self._order.id, self._coins)
                if opening.state is OpeningState.NONE:
                    await self._refused(answer)
                    return
            else:
                opening = answer
        match opening.state:
            case OpeningState.PUBLISHED:
                await self._fill(opening)
            case OpeningState.UNPUBLISHED:
                await self._resolve_unpublished(opening, wallet)
            case _:
                await self._wait_for_answer(opening)

    # Before the request to the seller.

    async def _prepare(self, wallet: SellerWallet) -> bool:
        """Move the order to `submitted`; return False if it waits or has failed."""
        order, channels = self._order, self._channels
        since_request = await self._since_request()
        may_come = _LOCKED <= since_request < _OVER
        if why := await self._why_over(wallet, may_come=may_come):
            return await self._give_up(why)
        if may_come:
            return await self._try_again_in(self._rules.opening_every)
        if not self._coins and not await self._reserve(wallet):
            return False
        fee = wallet.fee_sat_per_vb * pricing.funding_vbytes(len(self._coins))
        if fee > order.quote.highest_funding_fee:
            log.warning(
                "chain fees are above the order's maximum",
                extra={"order": order.id, "sats": fee},
            )
            return await self._try_again_in(timedelta(seconds=30))
        to = self._channel
        addresses = await channels.dialing.addresses(
            to.node_host, order.organization_id
        )
        if not await self._seller.connect(to.node_key, addresses):
            return await self._wait_for_peer()
        return await self._submit_if_held(since_request)

    async def _reserve(self, wallet: SellerWallet) -> bool:
        """Reserve coins for the order; return False if it waits or has failed.

        An opening that locks coins of no order may be this order's own, from before the
        database was restored. Until that is over, the order gets no other coins.
        """
        order, channels = self._order, self._channels
        reserved = await channels.database.reader.reserved_coins.with_sats()
        unlocked = set(wallet.coins)
        known = sum(coin.sats for coin in reserved if coin not in unlocked)
        if wallet.locked > known:
            log.warning(
                "coins of the seller are locked by an opening that no order requested",
                extra={"order": order.id, "sats": wallet.locked - known},
            )
            return await self._try_again_in(self._rules.peer_every)
        taken = {coin.outpoint for coin in reserved}
        if not (coins := reservations.choose(wallet, taken, order.quote)):
            return await self._give_up("no coins of the seller are left")
        try:
            async with self._due.transaction() as tx:
                work = await self._load(tx)
                if work.order(order.id).status is not order.status:
                    await self._due.reschedule(tx, due=work.now)
                    return False
                await reservations.reserve_paid(
                    tx, channels, order, coins, now=work.now
                )
        except SoldOut as error:
            return await self._give_up(error.message)
        self._coins = list(coins)
        return True

    async def _submit_if_held(self, since_request: timedelta) -> bool:
        """Move the order to `submitted`, unless its payment was returned.

        An earlier attempt may have returned it, and died before booking that.
        """
        order, channels = self._order, self._channels
        if (
            await filling.look_up_payment(channels, order)
        ).held_htlc != order.held_htlc:
            return await self._try_again_in(timedelta(0))
        if order.status is not OrderStatus.SUBMITTED:
            return await self._submit()
        # Record when the new request was sent.
        return since_request < _OVER or await self._wait_for_peer()

    async def _why_over(self, wallet: SellerWallet, *, may_come: bool) -> str:
        """Return why no channel can be opened for the order now; "" if one can."""
        order, channels = self._order, self._channels
        held = await channels.database.reader.ledger.balance(ledger.held(order.id))
        if held < order.total_fee:
            return "its payment is no longer held"
        if filling.lock_left(order, wallet.height) < self._rules.lock_left:
            return "the payment's HTLC expires too soon"
        if filling.waited_long(channels, order) and not may_come:
            return "the node was not connected in time"
        return ""

    async def _since_request(self) -> timedelta:
        """Return how long ago the opening was first requested, if it was."""
        if self._order.status is not OrderStatus.SUBMITTED:
            return timedelta(0)
        steps = await self._channels.database.reader.moves.timeline(self._order.id)
        requested_at = max(
            at for status, at in steps if status is OrderStatus.SUBMITTED
        )
        return self._channels.clock() - requested_at

    async def _submit(self) -> bool:
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            order = work.order(self._order.id)
            if order.status not in filling.NOT_ASKED:
                await self._due.reschedule(tx, due=work.now)
                return False
            await tx.seller.lock()  # so that no other order is counted meanwhile
            peer = self._channel.node_key
            is_peer_busy = await tx.orders.is_opening_to(peer, but=order.id)
            capacity = await tx.orders.capacity_asked_since(
                work.now - reservations.HOUR
            )
            limit = self._rules.seller_most_per_hour
            if is_peer_busy or capacity + order.quote.channel.capacity > limit:
                await self._due.reschedule(tx, due=work.now + self._rules.peer_every)
                return False
            self._order = work.move(advance(order, OrderEvent.ASKED))
            await work.flush(tx)
        return True

    async def _wait_for_peer(self) -> bool:
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            order = work.order(self._order.id)
            if order.may(OrderEvent.UNREACHED):
                work.move(advance(order, OrderEvent.UNREACHED))
            await work.flush(tx)
            await self._due.reschedule(tx, due=work.now + self._rules.peer_every)
        return False

    async def _give_up(self, why: str) -> bool:
        log.warning("no channel is opened", extra={"order": self._order.id, "why": why})
        await refund(self._channels, self._due, self._order)
        return False

    async def _try_again_in(self, pause: timedelta) -> bool:
        await filling.reschedule(self._channels, self._due, pause)
        return False

    # After the request to the seller.

    async def _refused(self, refused: OpeningRefused) -> None:
        if refused.offline:
            await self._wait_for_peer()
        else:
            await self._give_up(refused.why)

    async def _wait_for_answer(self, opening: Opening) -> None:
        """Wait for a peer that has not responded yet to this order's opening."""
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            order = work.order(self._order.id)
            if order.status in filling.NOT_ASKED:
                order = work.move(advance(order, OrderEvent.ASKED))
            if opening.channel_point and not order.channel_point:
                work.change(order.with_changes(channel_point=opening.channel_point))
            await work.flush(tx)
            await self._due.reschedule(tx, due=work.now + self._rules.opening_every)

    async def _resolve_unpublished(
        self, opening: Opening, wallet: SellerWallet
    ) -> None:
        order = self._order
        left = filling.lock_left(order, wallet.height)
        log.error(
            "a channel is signed but its transaction is not published",
            extra={"order": order.id, "channel_point": opening.channel_point},
        )
        if order.status is OrderStatus.SUBMITTED and left < self._rules.lock_left:
            log.error(
                "returning the payment; a channel may open without payment",
                extra={"order": order.id, "channel_point": opening.channel_point},
            )
            await refund(
                self._channels, self._due, order, channel_point=opening.channel_point
            )
        else:
            await self._wait_for_answer(opening)

    async def _fill(self, opening: Opening) -> None:
        """Settle the payment for a published channel, and book it with the lease."""
        order = self._order
        settled = not order.held_htlc or await self._settle(order)
        async with self._due.transaction() as tx:
            work = await self._load(tx)
            current = work.order(order.id)
            if current.held_htlc != order.held_htlc:
                await self._due.reschedule(tx, due=work.now)
                return
            filled = current.status not in ENDED
            if filled:
                filling.book(
                    work,
                    current,
                    self._lease(current, opening),
                    settled=settled,
                    account=ledger.SELLER,
                )
            await work.flush(tx)
            if filled and self._coins:
                await tx.fundings.add(order.id, self._coins, since=opening.height)
            await self._due.done(tx)

    async def _settle(self, order: Order) -> bool:
        request = order.payment_request
        return request is not None and await self._channels.payments.settle(request)

    def _lease(self, order: Order, opening: Opening) -> Lease:
        channel, quote = self._channel, order.quote
        fee = quote.highest_funding_fee if opening.fee is None else opening.fee
        return Lease(
            channel_point=opening.channel_point,
            premium=quote.premium,
            execution_fee=Sats(0),
            chain_fee=fee,
            self_chan_balance=Sats(0),
            node=channel.node_key,
            peer=self._seller_key,
            height=opening.height,
        )

    async def _load(self, tx: Stores) -> UnitOfWork:
        return await UnitOfWork.load(
            tx, [self._order.id], now=self._channels.clock(), lock_organizations=True
        )
