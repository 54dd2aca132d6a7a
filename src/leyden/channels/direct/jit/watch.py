"""What becomes of just-in-time orders while no payment to them is held.

It asks lnd's history what was earned, finds openings whose answer was lost, books what
a channel cost, and lets orders expire.
"""

import asyncio
import contextlib
import logging
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Final

from prometheus_client import Gauge

from leyden.channels.direct.base import Purse
from leyden.channels.direct.jit import purse as purses
from leyden.channels.direct.jit import state
from leyden.channels.direct.jit.interceptor import NOT_STORED, Interceptor
from leyden.channels.direct.jit.offers import MOST_SOLD
from leyden.channels.direct.jit.steps import Steps
from leyden.channels.direct.rules import jit
from leyden.channels.direct.rules.jit import (
    HELD_STATES,
    JitEvent,
    JitOrder,
    JitStatus,
    Publication,
)
from leyden.channels.direct.rules.openings import OpeningState
from leyden.channels.services import ChannelServices
from leyden.errors import Away, SellerAway, Stale

log = logging.getLogger(__name__)

_FREE: Final = Gauge(
    "leyden_jit_free_sats",
    "Coins of the purse that no just-in-time channel has.",
)
_COUNTED_EVERY: Final = timedelta(minutes=1)
_FORWARDED: Final = frozenset({JitStatus.RESUMING, JitStatus.EARNED})
_SEARCHED_EVERY: Final = timedelta(minutes=5)  # sooner than an alarm of it ends

_BUSY_S: Final = 0.5
_IDLE_S: Final = 5.0
_BATCH: Final = 500
_PRUNED_EVERY: Final = timedelta(hours=1)
_FORGOTTEN_AFTER: Final = timedelta(days=1)
# After this time lnd has given up on an opening whose peer did not answer.
_OPENING_ENDS: Final = timedelta(minutes=35)


class Watch:
    """Follows orders, in the process that intercepts."""

    def __init__(
        self,
        channels: ChannelServices,
        purse: Purse,
        steps: Steps,
        interceptor: Interceptor,
    ) -> None:
        self._channels, self._purse, self._steps = channels, purse, steps
        self._interceptor = interceptor
        self._pruned_at = channels.clock() - _PRUNED_EVERY
        self._counted_at = channels.clock() - _COUNTED_EVERY
        self._searched_at = channels.clock() - _SEARCHED_EVERY
        self._orders = channels.database.reader.jit_orders

    async def run(self) -> None:
        """Look again and again until cancelled, at once if there is news.

        A node's next payment waits until it is known what became of its last one.
        """
        news = self._steps.news
        logged = ""
        while True:
            pause = _IDLE_S
            news.clear()
            try:
                if await self.look():
                    pause = _BUSY_S
                logged = ""
            except (Away, Stale) as error:
                if str(error) != logged:
                    logged = str(error)
                    log.warning(
                        "can't follow just-in-time orders", extra={"why": logged}
                    )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await news.wait()

    async def look(self) -> bool:
        """Look once; return whether an order is under way that may soon be decided."""
        now = self._channels.clock()
        await self._forget(now)
        unpublished = set(self._interceptor.unpublished)
        unresolved = await self._orders.unresolved(since=now - jit.CLAIMED_WITHIN)
        found = [each for each in unresolved if each.purse == self._interceptor.pubkey]
        may_be = {each.id for each in found if each.is_unpublished}
        self._interceptor.unpublished -= unpublished - may_be
        moved = await self._settle(found, now)
        failed: Away | Stale | None = None
        for order in found:
            if order.id in moved:
                continue
            try:
                await self._follow(order, now)
            except (Away, Stale) as error:
                failed = error  # what the nodes of others claimed is published
        if moved:
            self._steps.news.set()  # what was claimed is published
        await self._search(unresolved, now)
        if failed is not None:
            raise failed
        await self._count(now)
        return any(
            each.status is not JitStatus.UNPAID
            and now - max(each.held_at, each.resumed_at) < jit.KEPT
            for each in found
        )

    async def _follow(self, order: JitOrder, now: datetime) -> None:
        if order.is_unpublished and order.channel_point:
            await self._publish(order, now)
        elif not self._interceptor.holds(order):
            await self.end_unheld(order, now)

    async def _forget(self, now: datetime) -> None:
        """Let unpaid orders expire, and delete those that did a day ago."""
        lapsed = await self._orders.lapsed(now=now, limit=_BATCH)
        if waiting := [each for each in lapsed if not self._interceptor.holds(each)]:
            await self._steps.lapse(waiting)
        if now - self._pruned_at > _PRUNED_EVERY:
            await self._steps.prune(before=now - _FORGOTTEN_AFTER, limit=MOST_SOLD)
            self._pruned_at = now

    async def _count(self, now: datetime) -> None:
        """Show the purse's free coins to Prometheus."""
        if now - self._counted_at >= _COUNTED_EVERY:
            wallet = await purses.read(self._channels, self._purse)
            _FREE.set(await state.free(self._channels.database.reader, wallet))
            self._counted_at = now

    async def _settle(self, found: list[JitOrder], now: datetime) -> set[str]:
        """Decide what became of forwarded payments; return the orders that moved."""
        moved: set[str] = set()
        forwarded = [
            each
            for each in found
            if each.status is JitStatus.RESUMING
            or (each.status is JitStatus.UNPAID and each.resumed_at >= each.created)
        ]
        if not forwarded:
            return moved
        # In this order: what is claimed is in the history before it leaves the channel.
        # lnd may forward over any of its channels with the node.
        pending: defaultdict[str, set[str]] = defaultdict(set)
        for each in await self._purse.forwarding.channels():
            pending[each.peer] |= each.pending
        history = await self._purse.forwarding.forwards(
            min(each.resumed_at for each in forwarded)
        )
        fees = {each.circuit: each.fee_msat for each in history}
        for order in forwarded:
            parts = await self._orders.parts(order.id)
            event = jit.outcome(
                parts,
                fees,
                pending[order.peer],
                waited=self._since(order.resumed_at, now),
            )
            if event is JitEvent.REFUSED and self._interceptor.holds_part(order, parts):
                continue  # it may be forwarded yet
            if event is JitEvent.CLAIMED:
                await self._steps.earn(order, parts, fees)
                moved.add(order.id)
            elif event is not None and jit.may(order, event):
                log.warning(
                    "a just-in-time channel was opened for nothing",
                    extra={"order": order.id, "channel_point": order.channel_point},
                )
                await self._steps.turn_back(order, event)
                moved.add(order.id)
        return moved

    async def end_unheld(self, order: JitOrder, now: datetime) -> None:
        """Find what an order without a held payment has; give up on what it lacks."""
        is_over = self._since(order.held_at, now) > jit.HOLD
        if order.status in {JitStatus.HOLDING, JitStatus.OPENED} and is_over:
            await self._steps.turn_back(order, JitEvent.RETURNED)
        elif order.status is JitStatus.OPENING and is_over:
            opening = await self._purse.seller.find(order.id, order.coins)
            if jit.is_opened(order, opening):
                await self._steps.sign(order, opening)
            elif now - order.held_at <= _OPENING_ENDS:
                return
            elif opening.state is OpeningState.NONE:
                await self._steps.turn_back(order, JitEvent.REFUSED)
            elif opening.channel_point and order.trusts:
                await self._interceptor.discard(order, opening.channel_point)
            elif order.trusts:
                await self._interceptor.give_up(order, "", order.coins)
        elif order.channel_point and order.funding_fee is None:
            opening = await self._purse.seller.find(order.id, order.coins)
            if opening.fee is not None:
                await self._steps.book_funding(order, opening.fee)

    async def _publish(self, order: JitOrder, now: datetime) -> None:
        """Publish the channel of an order that trusts us, or give it up."""
        own = self._purse.unpublished
        if own is None:
            raise SellerAway(why="the purse publishes nothing", retry_after_s=5)
        if order.status is JitStatus.RETRACTING:
            await self._retract(order)
            return
        if order.status in HELD_STATES:
            if not self._interceptor.holds(order):
                await self.end_unheld(order, now)
            return
        # In this order: what is claimed is in the channel before it leaves the other.
        listed = await self._purse.forwarding.channels()
        opening = await self._purse.seller.find(order.id, order.coins)
        parts = await self._orders.parts(order.id)
        hashes = {each.payment_hash for each in parts} | {order.payment_hash}
        step = jit.publication(
            order,
            next((each for each in listed if each.point == order.channel_point), None),
            is_closing=bool(opening.channel_point),
            is_held=any(hashes & each.arriving for each in listed),
            waited=self._since(max(order.held_at, order.resumed_at), now),
        )
        is_published = opening.state is OpeningState.PUBLISHED
        if is_published or step is Publication.PUBLISH:
            await self._steps.check_held()
            why = await own.publish(order.id, order.transaction, order.coins)
            if why and not is_published:
                await self._steps.alarm(order.id, order.channel_point, why)
                return
            opening = await self._purse.seller.find(order.id, order.coins)
            if opening.fee is not None:
                await self._steps.book_funding(order, opening.fee)
        elif step is Publication.GIVE_UP and not self._interceptor.holds(order):
            await self._steps.turn_back(order, JitEvent.GIVEN_UP)

    async def _retract(self, order: JitOrder) -> None:
        """Forget channel and transaction, unless something is in the channel by now.

        lnd may send what is for another channel of the node's over this one.
        """
        point = order.channel_point
        listed = await self._purse.forwarding.channels()
        channel = next((each for each in listed if each.point == point), None)
        if channel is not None and (channel.remote or not channel.settled):
            await self._steps.turn_back(order, JitEvent.REFUSED)
            return
        await self._interceptor.give_up(order, point, order.coins)
        await self._steps.retract(order)

    async def _search(self, unresolved: list[JitOrder], now: datetime) -> None:
        """Raise alarms for what nobody publishes: its lnd, or its order, is gone."""
        pubkey = self._interceptor.pubkey
        if not pubkey or now - self._searched_at < _SEARCHED_EVERY:
            return
        for order in unresolved:
            may_be_claimed = order.is_unpublished and order.status in _FORWARDED
            if order.purse != pubkey and may_be_claimed:
                why = "the purse is another lnd now"
                await self._steps.alarm(order.id, order.channel_point, why)
        for each in await self._purse.forwarding.channels():
            if not (each.remote and jit.is_id(each.order_id)):
                continue
            known = await self._orders.find(each.order_id)
            if known is not None and known.channel_point == each.point:
                continue
            opening = await self._purse.seller.find(each.order_id, ())
            if opening.state is OpeningState.UNPUBLISHED:
                await self._steps.alarm(each.order_id, each.point, NOT_STORED)
        self._searched_at = now

    def _since(self, at: datetime, now: datetime) -> timedelta:
        """Return how long we could have been asked about an HTLC since then."""
        connected = self._interceptor.connected_at
        return now - max(at, connected) if connected else timedelta(0)
