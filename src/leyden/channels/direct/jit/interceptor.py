"""The interceptor: lnd holds each HTLC that the purse forwards until we answer.

1. An HTLC whose channel id can't be ours is resumed at once: nothing else is asked.
2. One that was stored as forwarded gets the same answer as before.
3. The others are held until all parts of the payment are here and the node is online,
   for at most 90 seconds and two blocks.
4. Coins are reserved and stored, and the channel is opened from those alone.
5. Once it is published, active, and certainly zero-conf, the channel id becomes its
   alias.
6. The parts are stored, the order is `resuming`, and only then lnd gets the answers.

Of an order whose node trusts us, the channel isn't published in 5, but once its payment
is claimed. Until then nothing else may be in that channel: 1 waits, if lnd itself gave
it the id that an HTLC asks for.

When the connection breaks, lnd asks again about everything that it holds, so what is
held is forgotten here, and begins again with what is stored.
"""

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Final

from leyden.base.rules.units import Sats
from leyden.channels.direct import reservations
from leyden.channels.direct.base import (
    Interception,
    Purse,
    Unpublished,
    WantedOpening,
)
from leyden.channels.direct.jit import purse as purses
from leyden.channels.direct.jit.steps import Steps
from leyden.channels.direct.rules import jit
from leyden.channels.direct.rules.jit import (
    CircuitKey,
    HeldHtlc,
    HtlcAnswer,
    JitChannel,
    JitEvent,
    JitOrder,
    JitPart,
    JitStatus,
    Payment,
    Step,
)
from leyden.channels.direct.rules.openings import Coin, OpeningRefused, OpeningState
from leyden.channels.services import ChannelServices, JitSettings
from leyden.errors import Away, SellerAway, Stale
from leyden.values import Struct, replace

log = logging.getLogger(__name__)

# Why a channel can't be published.
NOT_STORED: Final = "its transaction is not known"
_NO_COINS: Final = "no coins of the purse are left"

_AT_ONCE: Final = 0.0
_SOON_S: Final = 0.1  # lnd opens the channel, or its peer answers
_LATER_S: Final = 1.0  # more parts arrive, or the node connects
# With more orders than these, each is looked at less often: lnd has other work.
_UNHURRIED: Final = 20
_UNCONNECTED_S: Final = 1.0
_FRESH_S: Final = 0.5
_HOUR: Final = timedelta(hours=1)


class _Arrived(Struct, frozen=True):
    """An HTLC that is held, and when it arrived."""

    htlc: HeldHtlc
    at: datetime
    height: int


class Interceptor:
    """Answers lnd about HTLCs; what must last is stored before it is answered."""

    def __init__(
        self,
        channels: ChannelServices,
        purse: Purse,
        rules: JitSettings,
        steps: Steps,
    ) -> None:
        self._channels, self._purse, self._rules = channels, purse, rules
        self._steps = steps
        self._orders = channels.database.reader.jit_orders
        self._connection: Interception | None = None
        self._new: defaultdict[int, list[HeldHtlc]] = defaultdict(list)
        self._held: dict[int, dict[CircuitKey, _Arrived]] = {}
        self._serving: dict[int, asyncio.Event] = {}
        self._turn = asyncio.Lock()
        self._wallet = purses.RecentWallet(channels, purse)
        self.connected_at: datetime | None = None
        self.pubkey = ""
        self.unpublished: set[str] = set()  # orders whose channel may be so
        self._passing = 0  # HTLCs for others that wait

    def holds(self, order: JitOrder) -> bool:
        """Return whether a payment to the order's channel id is held."""
        return bool(self._held.get(order.scid) or self._new.get(order.scid))

    def holds_part(self, order: JitOrder, parts: Sequence[JitPart]) -> bool:
        """Return whether a part is held whose answer, stored before, is yet to come."""
        return not self._all(order.scid).isdisjoint(each.circuit for each in parts)

    async def run(self) -> None:
        """Answer until cancelled, whenever lnd is there."""
        logged = ""
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    self.pubkey = (
                        await purses.read(self._channels, self._purse)
                    ).pubkey
                    now = self._channels.clock()
                    under_way = await self._orders.unresolved(since=now)
                    self.unpublished |= {o.id for o in under_way if o.is_unpublished}
                    async with self._purse.forwarding.intercept() as connection:
                        self._connection = connection
                        self.connected_at = self._channels.clock()
                        self._steps.news.set()
                        async with aclosing(connection.htlcs()) as arriving:
                            async for htlc in arriving:
                                logged = ""
                                await self._take(htlc, connection, group)
                except Away as error:
                    if str(error) != logged:
                        logged = str(error)
                        log.warning(
                            "can't intercept the purse's HTLCs", extra={"why": logged}
                        )
                finally:
                    self._connection = self.connected_at = None
                    self._new.clear()
                    self._held.clear()
                await asyncio.sleep(_UNCONNECTED_S if logged else 0)

    async def _take(
        self, htlc: HeldHtlc, connection: Interception, group: asyncio.TaskGroup
    ) -> None:
        scid = htlc.scid
        if not jit.may_be_ours(scid):
            if self.unpublished and jit.may_be_lnds(scid):
                group.create_task(self._pass(htlc, connection))
            else:
                await connection.answer(HtlcAnswer(htlc.circuit))
            return
        self._new[scid].append(htlc)
        if (awake := self._serving.get(scid)) is not None:
            awake.set()
            return
        self._serving[scid] = awake = asyncio.Event()
        group.create_task(self._serve(scid, awake))

    async def _pass(self, htlc: HeldHtlc, connection: Interception) -> None:
        """Resume an HTLC for others once its channel is published, or is none.

        It was never forwarded over one that is not, so it may be failed.
        """
        since = self._channels.clock()
        self._passing += 1
        try:
            while connection is self._connection:  # else lnd asks again
                with contextlib.suppress(Away):
                    waits = await self._is_unpublished(htlc.scid)
                    is_over = self._channels.clock() - since >= jit.HOLD
                    if not waits or is_over:
                        if connection is self._connection:
                            answer = HtlcAnswer(htlc.circuit, fails=waits)
                            await connection.answer(answer)
                        return
                await asyncio.sleep(_SOON_S * max(1.0, self._passing / _UNHURRIED))
        finally:
            self._passing -= 1

    async def _is_unpublished(self, scid: int) -> bool:
        return any(
            scid in each.scids and each.order_id in self.unpublished
            for each in await self._purse.forwarding.channels()
        )

    async def _serve(self, scid: int, awake: asyncio.Event) -> None:
        """Do what is to be done for one channel id until nothing of it is held."""
        logged = ""
        try:
            while self._held.get(scid) or self._new.get(scid):
                awake.clear()
                pause = _SOON_S
                try:
                    pause = await self._step(scid)
                except (Away, Stale) as error:
                    if str(error) != logged:
                        logged = str(error)
                        log.warning(
                            "a just-in-time payment waits",
                            extra={"order": jit.scid_text(scid), "why": logged},
                        )
                except Exception:
                    log.exception(
                        "a just-in-time payment waits",
                        extra={"order": jit.scid_text(scid)},
                    )
                if pause:
                    pause *= max(1.0, len(self._serving) / _UNHURRIED)
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(pause):
                            await awake.wait()
        finally:
            del self._serving[scid]
            self._held.pop(scid, None)

    async def _step(self, scid: int) -> float:
        """Take one step; return the pause before the next one."""
        connection = self._connection
        order = await self._orders.find(jit.scid_text(scid))
        if order is None or order.purse != self.pubkey:
            await self._answer(connection, scid, self._all(scid), fails=False)
            return _AT_ONCE
        stored = {each.circuit: each for each in await self._orders.parts(order.id)}
        looked_at = self._all(scid)
        asked_again = looked_at & set(stored)
        if asked_again and await self._may_reconnect(order):
            return _SOON_S
        for circuit in asked_again:
            await self._send(connection, scid, jit.answer_for(stored[circuit]))
        if not self._all(scid):
            return _AT_ONCE
        wallet = await self._wallet.get(fresh_s=_FRESH_S)
        height, online = wallet.height, order.peer in wallet.peers
        self._settle_in(scid, height)
        if not set(self._held[scid]) <= looked_at:
            return _AT_ONCE  # what arrived meanwhile may be stored
        now = self._channels.clock()
        for payment in self._payments(scid):
            step = jit.decide(order, payment, online=online, now=now, height=height)
            if step is not Step.WAIT:
                done = await self._do(step, order, payment, connection)
                return _AT_ONCE if done else _SOON_S
        return _LATER_S

    async def _do(
        self,
        step: Step,
        order: JitOrder,
        payment: Payment,
        connection: Interception | None,
    ) -> bool:
        """Take the step; return False to look again in a moment."""
        circuits = self._of(order.scid, payment)
        match step:
            case Step.PASS:
                await self._answer(connection, order.scid, circuits, fails=False)
            case Step.RETURN:
                return await self._return(order, payment, circuits, connection)
            case Step.HOLD:
                await self._steps.hold(order, payment)
            case Step.OPEN:
                return await self.reserve(order, payment, connection)
            case Step.FIND:
                return await self.open(order, connection)
            case Step.FORWARD:
                return await self._forward(order, circuits, connection)
        return True

    async def _return(
        self,
        order: JitOrder,
        payment: Payment,
        circuits: set[CircuitKey],
        connection: Interception | None,
    ) -> bool:
        """Fail the payment, unless its node has it by now."""
        was_forwarded = await self._was_forwarded(order, payment)
        if was_forwarded and jit.may(order, JitEvent.FORWARDED):
            return await self._forward(order, circuits, connection)
        others = self._all(order.scid) - circuits
        if not others and jit.may(order, JitEvent.RETURNED):
            await self._steps.turn_back(order, JitEvent.RETURNED)
        elif not others and order.status is JitStatus.OPENING:
            await self._steps.drop_payment(order)
        await self._answer(connection, order.scid, circuits, fails=not was_forwarded)
        return True

    # Before the channel. Wrapped invoices take the same steps, without a connection.

    async def reserve(
        self,
        order: JitOrder,
        payment: Payment,
        connection: Interception | None = None,
    ) -> bool:
        """Reserve coins, or refuse; return False while the node's other one opens."""
        async with self._turn:  # so that no coin is chosen twice
            if await self._orders.under_way_to(order.peer, purse=order.purse):
                return False  # it may never pay for that channel
            await self._reserve(order, payment, connection)
        return True

    async def _reserve(
        self, order: JitOrder, payment: Payment, connection: Interception | None
    ) -> None:
        """Reserve coins for the channel, if the limits allow it."""
        wallet = await purses.read(self._channels, self._purse)
        has_waited = wallet.height - payment.height >= jit.HOLD_BLOCKS
        if has_waited or order.peer not in wallet.peers:
            self._wallet.forget()  # it is read again; the payment goes back, or waits
            return
        sat_per_vb = wallet.fee_sat_per_vb
        coins = reservations.choose_for(
            wallet, await self._orders.reserved(), order.capacity, sat_per_vb
        )
        cost = jit.funding_cost(sat_per_vb, inputs=len(coins))
        if why := await self._why_not(order, cost) if coins else _NO_COINS:
            await self._refuse(order, connection, JitEvent.RETURNED, why)
            return
        trusts = order.trusts and await purses.is_stranger(
            self._channels, self._purse, order.peer, order_id=order.id
        )
        await self._steps.open(order, replace(order, coins=coins, trusts=trusts))

    async def _why_not(self, order: JitOrder, cost: Sats) -> str:
        """Return why no channel is opened for the order now; "" if one can be.

        Only this task opens channels, so nothing of it changes meanwhile.
        """
        now, rules = self._channels.clock(), self._rules
        if cost * jit.MSAT > order.fee_msat:
            return "chain fees are higher than the order's fee"
        opened = await self._orders.opened_since(now - _HOUR)
        if opened + order.capacity > rules.most_per_hour:
            return "the limit per hour is reached"
        since = now - jit.UNPAID_COUNTS
        not_taken = await self._orders.nobody_took(since=since, before=now - jit.KEPT)
        if not_taken > rules.most_unpaid:
            return "too many channels were opened for payments that nobody took"
        if await self._orders.unpaid_by(order.peer, since=since):
            return "the node has a channel whose payment it did not take"
        return ""

    async def open(
        self, order: JitOrder, connection: Interception | None = None
    ) -> bool:
        """Open the channel from the order's coins, or find the one that is opened.

        If an answer was lost, the same is asked again: at most one transaction that
        spends these coins can confirm.
        """
        seller = self._purse.seller
        if order.trusts:
            return await self._open_unpublished(order, connection)
        opening = await seller.find(order.id, order.coins)
        if opening.state is OpeningState.NONE:
            wanted = await self._wanted(order)
            answer = await seller.open(wanted)
            if isinstance(answer, OpeningRefused):
                opening = await seller.find(order.id, order.coins)
                if opening.state is OpeningState.NONE:
                    await self._refuse(order, connection, JitEvent.REFUSED, answer.why)
                    return True
            else:
                opening = answer
        if opening.state is not OpeningState.PUBLISHED:
            return False
        await self._steps.sign(order, opening)
        return True

    async def _wanted(self, order: JitOrder) -> WantedOpening:
        wallet = await purses.read(self._channels, self._purse)
        await self._steps.check_held()
        # Coins were reserved some time ago, if lnd was away since.
        paid = jit.highest_sat_per_vb(order)
        return WantedOpening(
            order_id=order.id,
            pubkey=order.peer,
            capacity=order.capacity,
            announce=False,
            coins=order.coins,
            fee_sat_per_vb=min(wallet.fee_sat_per_vb, paid),
            zero_conf=True,
            max_local_csv=jit.MAX_TO_SELF_DELAY,
        )

    async def _open_unpublished(
        self, order: JitOrder, connection: Interception | None
    ) -> bool:
        """Open the channel from the order's coins, without publishing it, or find it.

        lnd asks the peer to sign once the transaction is stored. Before that, nothing
        of an opening can last, and it is begun anew.
        """
        self.unpublished.add(order.id)
        own = self._own()
        opening = await self._purse.seller.find(order.id, order.coins)
        if opening.state is OpeningState.UNDECIDED and not order.transaction:
            await self.give_up(order, "", order.coins)
        elif opening.state is OpeningState.NONE:

            async def store(transaction: str) -> None:
                nonlocal order
                order = await self._steps.store(order, transaction)

            answer = await own.open(await self._wanted(order), store)
            if isinstance(answer, OpeningRefused):
                opening = await self._purse.seller.find(order.id, order.coins)
                if opening.state is OpeningState.NONE:
                    await self._refuse(order, connection, JitEvent.REFUSED, answer.why)
                    return True
        elif jit.is_opened(order, opening):
            await self._steps.sign(order, opening)
            return True
        elif opening.channel_point:
            await self.discard(order, opening.channel_point)
        return False

    async def discard(self, order: JitOrder, point: str) -> None:
        """Abandon a channel of the order's that its stored transaction doesn't fund.

        It is of an earlier attempt that was given up: its coins may be spent by now. Or
        the database is older than it; then its node may have been paid.
        """
        listed = await self._purse.forwarding.channels()
        channel = next((each for each in listed if each.point == point), None)
        if channel is None or channel.remote or not channel.settled:
            await self._steps.alarm(order.id, point, NOT_STORED)
        else:
            await self.give_up(order, point, ())

    async def give_up(
        self, order: JitOrder, point: str, coins: tuple[Coin, ...]
    ) -> None:
        """Forget an opening or a channel, unless another process may be opening it."""
        await self._steps.check_held()
        await self._own().give_up(order.id, point, coins)

    def _own(self) -> Unpublished:
        if (own := self._purse.unpublished) is None:
            raise SellerAway(why="the purse opens no such channels", retry_after_s=5)
        return own

    async def _refuse(
        self,
        order: JitOrder,
        connection: Interception | None,
        event: JitEvent,
        why: str,
    ) -> None:
        """End the payment: there is no such channel, and lnd tells the payer so.

        Nothing has this channel id as its alias yet, so resumed is failed.
        """
        log.warning(
            "no just-in-time channel is opened", extra={"order": order.id, "why": why}
        )
        await self._steps.turn_back(order, event)
        scid = order.scid
        await self._answer(connection, scid, self._all(scid), fails=False)

    # With the channel.

    async def channel_of(self, order: JitOrder) -> JitChannel | None:
        """Return the channel that was opened for an order."""
        listed = await self._purse.forwarding.channels()
        return next((each for each in listed if each.order_id == order.id), None)

    async def _was_forwarded(self, order: JitOrder, payment: Payment) -> bool:
        """Return whether the node has a payment that the order knows nothing of.

        Then the database was restored, and is older than it. lnd forwards it once,
        however often it is told to.
        """
        if order.status in {JitStatus.RESUMING, JitStatus.EARNED}:
            return False
        return any(
            each.peer == order.peer and payment.payment_hash in each.pending
            for each in await self._purse.forwarding.channels()
        )

    async def _may_reconnect(self, order: JitOrder) -> bool:
        """Return whether the node may connect soon again, to an lnd that restarted.

        Until then, lnd would fail what it is told to forward to it.
        """
        since = self.connected_at
        if since is None or self._channels.clock() - since >= jit.HOLD:
            return False
        channel = await self.channel_of(order)
        return channel is not None and not channel.active

    async def _forward(
        self,
        order: JitOrder,
        circuits: set[CircuitKey],
        connection: Interception | None,
    ) -> bool:
        channel = await self.channel_of(order)
        if channel is None or not channel.active:
            return False
        held = self._held.get(order.scid, {})
        parts = [held[each].htlc for each in sorted(circuits) if each in held]
        takes = jit.divide([each.amount_msat for each in parts], order.fee_msat)
        if not channel.zero_conf or takes is None:
            what = "the parts are too small" if takes is None else "not zero-conf"
            log.error(
                "a just-in-time payment goes back",
                extra={"order": order.id, "why": what},
            )
            if jit.may(order, JitEvent.RETURNED):
                await self._steps.turn_back(order, JitEvent.RETURNED)
            await self._answer(connection, order.scid, circuits, fails=True)
            return True
        if order.scid not in channel.aliases:
            await self._purse.forwarding.add_alias(channel, order.scid)
        if connection is None or connection is not self._connection:
            return True  # lnd asks again, and what is held now may be less
        taken = [
            JitPart(
                circuit=each.circuit,
                payment_hash=each.payment_hash,
                amount_msat=each.amount_msat,
                take_msat=take,
            )
            for each, take in zip(parts, takes, strict=True)
        ]
        await self._steps.resume(order, taken)
        for part in taken:
            await self._send(connection, order.scid, jit.answer_for(part))
        return True

    # What is held.

    def _all(self, scid: int) -> set[CircuitKey]:
        new = {each.circuit for each in self._new.get(scid, ())}
        return new | set(self._held.get(scid, ()))

    def _settle_in(self, scid: int, height: int) -> None:
        """Note when new HTLCs arrived."""
        now, held = self._channels.clock(), self._held.setdefault(scid, {})
        for htlc in self._new.pop(scid, ()):
            held[htlc.circuit] = _Arrived(htlc, now, height)

    def _payments(self, scid: int) -> list[Payment]:
        """Return the payments that are held, the oldest first."""
        by_hash: defaultdict[str, list[_Arrived]] = defaultdict(list)
        for each in self._held.get(scid, {}).values():
            by_hash[each.htlc.payment_hash].append(each)
        return [
            Payment(
                payment_hash=payment_hash,
                amount_msat=sum(each.htlc.amount_msat for each in parts),
                since=min(each.at for each in parts),
                height=min(each.height for each in parts),
            )
            for payment_hash, parts in by_hash.items()
        ]

    def _of(self, scid: int, payment: Payment) -> set[CircuitKey]:
        return {
            circuit
            for circuit, each in self._held.get(scid, {}).items()
            if each.htlc.payment_hash == payment.payment_hash
        }

    async def _answer(
        self,
        connection: Interception | None,
        scid: int,
        circuits: set[CircuitKey],
        *,
        fails: bool,
    ) -> None:
        for circuit in sorted(circuits):
            await self._send(connection, scid, HtlcAnswer(circuit, fails=fails))

    async def _send(
        self, connection: Interception | None, scid: int, answer: HtlcAnswer
    ) -> None:
        """Answer on the connection that asked: on another, lnd may not ask yet."""
        if connection is None or connection is not self._connection:
            raise SellerAway(why="the purse's lnd is gone", retry_after_s=1)
        self._held.get(scid, {}).pop(answer.circuit, None)
        if new := self._new.get(scid):
            new[:] = [each for each in new if each.circuit != answer.circuit]
        await connection.answer(answer)
