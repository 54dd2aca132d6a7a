"""The purse's invoices and payments in memory, with a payer and nodes behind it.

It keeps lnd's contract, unpleasant parts included: an answer can get lost although the
call was done; a node may keep a payment, and claim it whenever it likes; lnd has no
route over a channel for a moment after it is active; and an invoice that is cancelled
refunds its payer whatever else is true, which is what `lost_msat` counts.
"""

import asyncio
import hashlib
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from leyden.channels.direct.base import WrapRefused
from leyden.channels.direct.rules.jit import JitChannel
from leyden.channels.direct.rules.wrapped import (
    HoldInvoice,
    InnerInvoice,
    InnerPayment,
    PaidState,
)
from leyden.channels.rules.payments import InvoiceState
from leyden.errors import SellerAway
from leyden.values import replace
from tests.fakes.forwarding import FakeForwarding
from tests.fakes.seller import FakeSeller

NO_ROUTE = "FAILURE_REASON_NO_ROUTE"
WRONG_DETAILS = "FAILURE_REASON_INCORRECT_PAYMENT_DETAILS"


@dataclass
class Held:
    """A hold invoice, as lnd has it."""

    invoice: HoldInvoice
    asked_msat: int
    ends: datetime
    delta: int


@dataclass
class FakeWrapping:
    """The invoices of one lnd, for the length of a test."""

    seller: FakeSeller
    forwarding: FakeForwarding
    clock: Callable[[], datetime]
    claims: bool = True  # the node claims what it is paid
    answers: bool = True  # ... or refuses it; else it just keeps it
    no_routes: int = 0  # so many of the next payments find none
    forgets: bool = False  # what is cancelled, as lnd does if it is told to
    denies: bool = False  # our macaroon lacks the permissions
    pauses_at: str = ""  # before this call does anything; "done X": after it did
    loses: str = ""  # the answer of the next call of this name
    inner: dict[str, InnerInvoice] = field(default_factory=dict)  # by request
    preimages: dict[str, str] = field(default_factory=dict)  # the nodes' own
    held: dict[str, Held] = field(default_factory=dict)  # by payment hash
    paid: dict[str, InnerPayment] = field(default_factory=dict)
    sent: list[tuple[str, str]] = field(default_factory=list)  # and over what
    free_msat: dict[str, int] = field(default_factory=dict)  # channels of old
    paused: asyncio.Event = field(default_factory=asyncio.Event)
    calls: Counter[str] = field(default_factory=Counter)

    # What the platform asks.

    async def decode(self, request: str) -> InnerInvoice | WrapRefused:
        """Decode an invoice that a node created here."""
        await self._begin("decode")
        if request.startswith("lnbc1"):
            return WrapRefused("invoice not for current active network 'regtest'")
        return self.inner.get(request) or WrapRefused("invalid checksum")

    async def hold(
        self, inner: InnerInvoice, *, msat: int, lives_s: int, delta: int
    ) -> HoldInvoice | WrapRefused:
        """Create a hold invoice, or return the first one."""
        await self._begin("hold")
        if (known := self.held.get(inner.payment_hash)) is not None:
            is_same = known.asked_msat == msat
            if not is_same or known.invoice.state is not InvoiceState.OPEN:
                return WrapRefused("an invoice with this payment hash already exists")
            return known.invoice
        invoice = HoldInvoice(
            state=InvoiceState.OPEN, request=f"lnbcrt1wrapped{inner.payment_hash}"
        )
        ends = self.clock() + timedelta(seconds=lives_s)
        self.held[inner.payment_hash] = Held(invoice, msat, ends, delta)
        await self._end("hold")
        return invoice

    async def pending(self) -> dict[str, HoldInvoice]:
        """Return invoices that are open or held."""
        await self._begin("pending")
        found = {each: await self._state(each) for each in self.held}
        wanted = {InvoiceState.OPEN, InvoiceState.ACCEPTED}
        return {key: each for key, each in found.items() if each.state in wanted}

    async def find(self, payment_hash: str) -> HoldInvoice:
        """Return an invoice's state."""
        await self._begin("find")
        return await self._state(payment_hash)

    async def settle(self, preimage: str) -> bool:
        """Settle a held payment."""
        await self._begin("settle")
        payment_hash = hashlib.sha256(bytes.fromhex(preimage)).hexdigest()
        held = self.held[payment_hash]
        if held.invoice.state is InvoiceState.ACCEPTED:
            held.invoice = replace(held.invoice, state=InvoiceState.SETTLED)
        await self._end("settle")
        return held.invoice.state is InvoiceState.SETTLED

    async def cancel(self, payment_hash: str) -> bool:
        """Give the payer the money back."""
        await self._begin("cancel")
        held = self.held[payment_hash]
        if held.invoice.state is not InvoiceState.SETTLED:
            held.invoice = replace(held.invoice, state=InvoiceState.CANCELLED)
        await self._end("cancel")
        return held.invoice.state is not InvoiceState.SETTLED

    async def pay(
        self, request: str, channel: JitChannel, *, cltv_limit: int
    ) -> WrapRefused | None:
        """Pay an invoice over this channel."""
        await self._begin("pay")
        inner = self.inner[request]
        now = self.paid.get(inner.payment_hash)
        if now is not None and now.state is not PaidState.FAILED:
            return None
        if inner.expires <= self.clock():
            return WrapRefused("invoice expired")
        if cltv_limit <= inner.delta + 3:
            return WrapRefused("cltv limit should be greater")
        assert channel.active
        self.sent.append((request, channel.point))
        if self.no_routes:
            self.no_routes -= 1
            self._pays(inner, PaidState.FAILED, why=NO_ROUTE)
        else:
            self._pays(inner, PaidState.IN_FLIGHT)
            if self.answers:
                self.resolve(inner.payment_hash, claims=self.claims)
        await self._end("pay")
        return None

    async def payment(self, payment_hash: str) -> InnerPayment:
        """Return what became of a payment."""
        await self._begin("payment")
        return self.paid.get(payment_hash) or InnerPayment(state=PaidState.NONE)

    async def decided(self, payment_hash: str) -> None:
        """Wait until the node has claimed the payment, or refused it."""
        await self._begin("decided")
        while self.paid[payment_hash].state is PaidState.IN_FLIGHT:
            await asyncio.sleep(0.005)

    async def receivable_msat(self, peer: str) -> int:
        """Return what a channel of old has."""
        await self._begin("receivable")
        return self.free_msat.get(peer, 0)

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    async def _begin(self, call: str) -> None:
        self.calls[call] += 1
        if self.seller.away or self.denies:
            raise SellerAway(why="permission denied", retry_after_s=1)
        await self._pause(call)

    async def _end(self, call: str) -> None:
        if self.loses == call:
            self.loses = ""
            raise SellerAway(why="the answer was lost", retry_after_s=1)
        await self._pause(f"done {call}")

    async def _pause(self, at: str) -> None:
        if self.pauses_at == at:
            self.paused.set()
            await asyncio.Event().wait()

    async def _state(self, payment_hash: str) -> HoldInvoice:
        held = self.held.get(payment_hash)
        if held is None:
            return HoldInvoice(state=InvoiceState.MISSING)
        if held.invoice.state is InvoiceState.OPEN and self.clock() >= held.ends:
            held.invoice = replace(held.invoice, state=InvoiceState.CANCELLED)
        if held.invoice.state is InvoiceState.CANCELLED and self.forgets:
            return HoldInvoice(state=InvoiceState.MISSING)
        return held.invoice

    def _pays(self, inner: InnerInvoice, state: PaidState, *, why: str = "") -> None:
        self.paid[inner.payment_hash] = InnerPayment(state=state, why=why)

    # What the world does.

    def invoice(
        self,
        payee: str,
        msat: int,
        *,
        preimage: str = "",
        lives: timedelta = timedelta(hours=1),
        delta: int = 80,
        hints: frozenset[str] = frozenset(),
        amp: bool = False,
    ) -> InnerInvoice:
        """Let a node create an invoice."""
        preimage = preimage or secrets.token_hex(32)
        payment_hash = hashlib.sha256(bytes.fromhex(preimage)).hexdigest()
        inner = InnerInvoice(
            request=f"lnbcrt1{secrets.token_hex(16)}",
            payment_hash=payment_hash,
            payee=payee,
            msat=msat,
            expires=self.clock() + lives,
            delta=delta,
            memo="two coffees",
            hints=hints,
            amp=amp,
        )
        self.preimages[payment_hash] = preimage
        self.inner[inner.request] = inner
        return inner

    def pay_wrapped(self, payment_hash: str, *, msat: int = 0) -> None:
        """Let the payer pay a hold invoice, which is then held."""
        held = self.held[payment_hash]
        assert held.invoice.state is InvoiceState.OPEN
        held.invoice = replace(
            held.invoice,
            state=InvoiceState.ACCEPTED,
            msat=msat or held.asked_msat,
            expires=self.seller.height + held.delta,
        )

    def resolve(self, payment_hash: str, *, claims: bool) -> None:
        """Let the node claim what it is being paid, or refuse it."""
        (inner,) = (e for e in self.inner.values() if e.payment_hash == payment_hash)
        assert self.paid[payment_hash].state is PaidState.IN_FLIGHT
        if not claims:
            self._pays(inner, PaidState.FAILED, why=WRONG_DETAILS)
            return
        self.paid[payment_hash] = InnerPayment(
            state=PaidState.SUCCEEDED,
            preimage=self.preimages[payment_hash],
            msat=inner.msat,
        )
        point = next(at for request, at in self.sent if request == inner.request)
        self.forwarding.paid_msat[point] += inner.msat

    @property
    def lost_msat(self) -> int:
        """What nodes were paid, or may be, for which no payer paid."""
        risked = {PaidState.SUCCEEDED, PaidState.IN_FLIGHT}
        return sum(
            inner.msat
            for inner in self.inner.values()
            if (held := self.held.get(inner.payment_hash)) is not None
            and held.invoice.state is InvoiceState.CANCELLED
            and (payment := self.paid.get(inner.payment_hash)) is not None
            and payment.state in risked
        )

    @property
    def kept_msat(self) -> int:
        """What payers paid for which no node was paid: nobody has the preimage."""
        return sum(
            each.invoice.msat
            for key, each in self.held.items()
            if each.invoice.state is InvoiceState.SETTLED
            and self.paid[key].state is not PaidState.SUCCEEDED
        )
