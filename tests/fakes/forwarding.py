"""The forwards of a purse's lnd in memory, with payers and one wallet behind it.

It keeps lnd's contract, unpleasant parts included: whatever is held is asked about
again by whoever connects, also what was forwarded before lnd restarted; an HTLC that is
failed although it was forwarded refunds its payer, and the node claims it all the same;
one that is resumed as it is takes no fee; and one answer too many ends the connection.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum, auto

from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.jit import (
    CircuitKey,
    Forward,
    HeldHtlc,
    HtlcAnswer,
    JitChannel,
)
from leyden.errors import SellerAway
from tests.fakes.seller import FakeSeller

# The channels by which payments arrive.
PAYERS = str(1_000 << 40 | 1 << 16)
OTHERS = str(1_001 << 40 | 1 << 16)


def alias_of(point: str) -> int:
    """Return what lnd itself calls a channel that is not confirmed."""
    return (16_000_000 << 40) + int(point[:8], 16)


class Fate(StrEnum):
    """What became of an HTLC."""

    HELD = auto()
    FORWARDED = auto()
    CLAIMED = auto()
    REFUSED = auto()  # by the wallet
    FAILED = auto()  # by us
    UNKNOWN = auto()  # there is no such channel
    PASSED = auto()  # on to somebody else


@dataclass
class Paid:
    """An HTLC of a payer."""

    htlc: HeldHtlc
    fate: Fate = Fate.HELD
    out_msat: int = 0
    lost: bool = False  # claimed by the wallet although the payer got it back


@dataclass
class FakeForwarding:
    """The forwards of one lnd, for the length of a test."""

    seller: FakeSeller
    claims: bool = True  # the wallet claims what it gets
    answers: bool = True  # ... or refuses it; else it just keeps it
    active: bool = True
    zero_conf: bool = True
    paid: dict[CircuitKey, Paid] = field(default_factory=dict)
    aliases: dict[int, str] = field(default_factory=dict)  # to channel points
    history: list[Forward] = field(default_factory=list)
    silent: bool = False  # lnd is killed before it writes down what was claimed
    lost_msat: int = 0  # claimed by the wallet after the payer got it back
    paid_msat: Counter[str] = field(default_factory=Counter)  # by the purse, by channel
    answered: list[HtlcAnswer] = field(default_factory=list)
    drops_answers: int = 0  # so many of the next ones break the connection instead
    interceptors: int = 0
    listed: int = 0  # how often
    pauses_at: str = ""  # "alias" or "answer": nothing of it happens until it goes on
    paused: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    closed: set[str] = field(default_factory=set)  # channel points
    meanwhile: Callable[[], object] = lambda: None  # the history is about to be read
    _asking: asyncio.Queue[HeldHtlc | None] | None = None

    @property
    def is_asking(self) -> bool:
        """Whether somebody intercepts."""
        return self._asking is not None

    # What the platform asks.

    @asynccontextmanager
    async def intercept(self) -> AsyncIterator["FakeForwarding"]:
        """Ask about everything that is held, and what arrives."""
        if self.seller.away or self._asking is not None:
            raise SellerAway(why="interceptor already exists", retry_after_s=1)
        self._asking = asyncio.Queue()
        self.interceptors += 1
        for each in self.paid.values():
            if each.fate is Fate.HELD or each.htlc.circuit in self._replayed:
                self._asking.put_nowait(each.htlc)
        try:
            yield self
        finally:
            self._asking = None

    async def htlcs(self) -> AsyncGenerator[HeldHtlc, None]:
        """Yield what lnd asks about."""
        queue = self._asking
        while queue is not None and (htlc := await queue.get()) is not None:
            yield htlc
        raise SellerAway(why="the interceptor was closed", retry_after_s=1)

    async def answer(self, answer: HtlcAnswer) -> None:
        """Do with an HTLC what the answer says."""
        asking = self._asking
        if self._is_jit(self.paid[answer.circuit]):
            await self._pause("answer")
        if asking is not self._asking:
            raise SellerAway(why="the connection broke", retry_after_s=1)
        if self.drops_answers:
            self.drops_answers -= 1
            self.break_off()
            raise SellerAway(why="the connection broke", retry_after_s=1)
        self.answered.append(answer)
        paid = self.paid[answer.circuit]
        again = answer.circuit in self._replayed
        if paid.fate is not Fate.HELD and not again:
            self.break_off()
            return
        self._replayed.discard(answer.circuit)
        if answer.fails:
            if again:  # it is with the wallet, which claims it from us
                self.lost_msat += paid.out_msat
                paid.lost = True
            paid.fate = Fate.FAILED
        elif not again:
            self._forward(paid, answer)

    def _forward(self, paid: Paid, answer: HtlcAnswer) -> None:
        if not self.point_of(paid.htlc.scid) or not self.active:
            ours = answer.out_msat is not None
            paid.fate = Fate.UNKNOWN if ours or self._is_jit(paid) else Fate.PASSED
            return
        paid.out_msat = (
            paid.htlc.amount_msat if answer.out_msat is None else answer.out_msat
        )
        paid.fate = Fate.FORWARDED
        if self.answers:
            self.resolve(paid.htlc.payment_hash, claims=self.claims)

    @staticmethod
    def _is_jit(paid: Paid) -> bool:
        return paid.htlc.scid >> 40 >= 16_100_000  # of LSPS2, or of wrapped invoices

    def point_of(self, scid: int) -> str:
        """Return the open channel that has this id; "" if there is none."""
        found = self.aliases.get(scid, "")
        found = found or next(
            (each for each in self.seller.channels if alias_of(each) == scid), ""
        )
        is_open = found in self.seller.channels and found not in self.closed
        return found if is_open else ""

    def paid_in(self, point: str) -> list[Paid]:
        """Return what was forwarded over a channel."""
        return [
            each
            for each in self.paid.values()
            if each.out_msat and self.point_of(each.htlc.scid) == point
        ]

    async def channels(self) -> list[JitChannel]:
        """List the payers' channel, and those that the seller opened."""
        self._check_reachable()
        self.listed += 1
        return [*self._payers(), *self._opened()]

    def _payers(self) -> list[JitChannel]:
        by_channel: defaultdict[str, list[Paid]] = defaultdict(list)
        for each in self.paid.values():
            by_channel[each.htlc.circuit.chan_id].append(each)
        return [
            JitChannel(
                order_id="",
                point=f"{int(chan_id):064x}:0",
                scid=int(chan_id),
                active=True,
                zero_conf=False,
                received=Sats(
                    sum(
                        each.htlc.amount_msat
                        for each in paid
                        if each.fate is Fate.CLAIMED
                    )
                    // 1_000
                ),
                arriving=frozenset(
                    each.htlc.payment_hash
                    for each in paid
                    if each.fate in {Fate.HELD, Fate.FORWARDED}
                ),
                settled=all(
                    each.fate not in {Fate.HELD, Fate.FORWARDED} for each in paid
                ),
            )
            for chan_id, paid in by_channel.items()
        ]

    def _opened(self) -> list[JitChannel]:
        return [
            JitChannel(
                order_id=channel.wanted.order_id,
                peer=channel.wanted.pubkey,
                point=point,
                scid=alias_of(point),
                active=self.active,
                zero_conf=self.zero_conf,
                aliases=frozenset(
                    scid for scid, at in self.aliases.items() if at == point
                ),
                pending=frozenset(
                    each.htlc.payment_hash
                    for each in self.paid.values()
                    if each.fate is Fate.FORWARDED
                    and self.point_of(each.htlc.scid) == point
                ),
                remote=Sats(
                    (
                        sum(
                            each.out_msat
                            for each in self.paid.values()
                            if (each.lost or each.fate is Fate.CLAIMED)
                            and self.point_of(each.htlc.scid) == point
                        )
                        + self.paid_msat[point]
                    )
                    // 1_000
                ),
                settled=not any(
                    each.fate is Fate.FORWARDED
                    and self.point_of(each.htlc.scid) == point
                    for each in self.paid.values()
                ),
            )
            for point, channel in self.seller.channels.items()
            if channel.signed and point not in self.closed
        ]

    async def add_alias(self, channel: JitChannel, scid: int) -> None:
        """Let payments to it pass over the channel."""
        await self._pause("alias")
        self._check_reachable()
        assert channel.active
        self.aliases[scid] = channel.point

    async def forwards(self, since: datetime) -> list[Forward]:
        """List what was claimed."""
        del since
        self._check_reachable()
        self.meanwhile()
        return list(self.history)

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    async def _pause(self, at: str) -> None:
        if self.pauses_at == at:
            self.paused.set()
            await self.goes_on.wait()

    def _check_reachable(self) -> None:
        if self.seller.away:
            raise SellerAway(retry_after_s=1)

    # What the world does.

    def __post_init__(self) -> None:
        self._replayed: set[CircuitKey] = set()

    def pay(
        self, scid: int, payment_hash: str, *amounts: int, by: str = PAYERS
    ) -> list[Paid]:
        """Let the parts of a payment arrive by a channel."""
        made = []
        for amount in amounts:
            number = sum(each.chan_id == by for each in self.paid)
            circuit = CircuitKey(by, str(number))
            htlc = HeldHtlc(
                circuit=circuit,
                scid=scid,
                payment_hash=payment_hash,
                amount_msat=amount,
            )
            self.paid[circuit] = Paid(htlc)
            made.append(self.paid[circuit])
            if self._asking is not None:
                self._asking.put_nowait(htlc)
        return made

    def resolve(self, payment_hash: str, *, claims: bool) -> None:
        """Let the wallet claim what it was forwarded of a payment, or refuse it."""
        for each in self.paid.values():
            if each.htlc.payment_hash != payment_hash:
                continue
            if each.fate is Fate.FORWARDED and claims:
                each.fate = Fate.CLAIMED
                if self.silent:
                    continue
                arrived = each.htlc.amount_msat
                self.history.append(
                    Forward(
                        each.htlc.circuit,
                        fee_msat=arrived - each.out_msat,
                        scid=each.htlc.scid,
                        in_msat=arrived,
                        out_msat=each.out_msat,
                    )
                )
            elif each.fate is Fate.FORWARDED:
                each.fate = Fate.REFUSED

    def give_up(self, payment_hash: str) -> None:
        """Fail what is held of a payment, before it expires, as lnd does by itself."""
        for each in self.paid.values():
            if each.htlc.payment_hash == payment_hash and each.fate is Fate.HELD:
                each.fate = Fate.FAILED

    def break_off(self) -> None:
        """End the connection."""
        if self._asking is not None:
            self._asking.put_nowait(None)

    def restart(self) -> None:
        """Restart lnd: it asks again, also about what the wallet has by now."""
        self._replayed = {
            circuit
            for circuit, each in self.paid.items()
            if each.fate is Fate.FORWARDED
        }
        self.break_off()

    def received_msat(self, payment_hash: str) -> int:
        """Return what the wallet claimed of a payment."""
        return sum(
            each.out_msat
            for each in self.paid.values()
            if each.htlc.payment_hash == payment_hash and each.fate is Fate.CLAIMED
        )
