"""Another LSP in memory, the lnd that pays it, and the chain where its channels come.

It keeps LSPS1's contract, and breaks it on request: it can claim a payment and open
nothing, keep one, refuse it, and say whatever it likes.
"""

import hashlib
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from leyden.base.rules.units import Sats
from leyden.channels.direct.base import PayerNode, WrapRefused
from leyden.channels.direct.rules.purchases import (
    LspInfo,
    LspOrder,
    LspRefused,
    LspState,
)
from leyden.channels.direct.rules.wrapped import InnerInvoice, InnerPayment, PaidState
from leyden.channels.rules.payments import Outpoint
from leyden.channels.rules.pricing import Channel
from leyden.errors import SellerAway
from leyden.values import replace

LSP_KEY = "03" + "a1" * 32
PAYER_KEY = "02" + "b2" * 32
NO_ROUTE = "FAILURE_REASON_NO_ROUTE"
REFUSED = "FAILURE_REASON_INCORRECT_PAYMENT_DETAILS"


@dataclass
class SoldChannel:
    """An order at the LSP."""

    order: LspOrder
    channel: Channel
    invoice: InnerInvoice
    preimage: str


@dataclass
class FakeLsp:
    """An LSP, for the length of a test."""

    clock: Callable[[], datetime]
    price: int = 5_000
    smallest: int = 100_000
    largest: int = 16_000_000
    confirmations: int = 0
    away: bool = False
    refuses: str = ""  # orders, for this reason
    claims: bool = True  # what it is paid
    answers: bool = True  # ... or refuses it; else it just keeps it
    opens: bool = True  # what it claimed the money for
    too_small_by: int = 0
    lives: timedelta = timedelta(hours=1)
    delta: int = 144
    network: str = "lnbcrt1"
    asks_msat: int = 0  # in the invoice, if not the price
    next_preimage: str = ""
    sold: dict[str, SoldChannel] = field(default_factory=dict)
    chain: dict[Outpoint, tuple[int, Sats]] = field(default_factory=dict)

    async def info(self) -> LspInfo:
        """Return what is sold."""
        self._check()
        return LspInfo(
            uri=f"{LSP_KEY}@lsp.example:9735",
            smallest=Sats(self.smallest),
            largest=Sats(self.largest),
            confirmations=self.confirmations,
            within_blocks=6,
            longest_blocks=52_416,
        )

    async def order(self, channel: Channel) -> LspOrder | LspRefused:
        """Name the price."""
        self._check()
        if self.refuses:
            return LspRefused(self.refuses)
        preimage = self.next_preimage or secrets.token_hex(32)
        invoice = InnerInvoice(
            request=f"{self.network}{secrets.token_hex(16)}",
            payment_hash=hashlib.sha256(bytes.fromhex(preimage)).hexdigest(),
            payee=LSP_KEY,
            msat=self.asks_msat or self.price * 1_000,
            expires=self.clock() + self.lives,
            delta=self.delta,
        )
        order = LspOrder(
            id=str(uuid.uuid4()),
            state=LspState.CREATED,
            price=Sats(self.price),
            invoice=invoice.request,
            channel=None,
        )
        self.sold[order.id] = SoldChannel(order, channel, invoice, preimage)
        return order

    async def find(self, order_id: str) -> LspOrder:
        """Return an order."""
        self._check()
        return self.sold[order_id].order

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _check(self) -> None:
        if self.away:
            raise SellerAway(why="the LSP does not answer", retry_after_s=1)

    def open(self, sold: SoldChannel, *, height: int) -> None:
        """Open the channel, in the next block."""
        point = Outpoint(secrets.token_hex(32), 1)
        sats = Sats(sold.channel.capacity - self.too_small_by)
        self.chain[point] = height + 1, sats
        sold.order = replace(sold.order, state=LspState.COMPLETED, channel=point)

    def say(self, sold: SoldChannel, state: LspState) -> None:
        """Say something else of the order."""
        sold.order = replace(sold.order, state=state)


@dataclass
class FakePayer:
    """The lnd that pays, for the length of a test."""

    lsp: FakeLsp
    pubkey: str = PAYER_KEY
    height: int = 1_800
    synced: bool = True
    has_sats: int = 10_000_000
    away: bool = False
    refuses: bool = False  # every payment
    slow: timedelta = timedelta(0)  # its clock
    no_route: bool = False
    routing_msat: int = 1_234
    loses: str = ""  # the answer of the next call of this name
    paid: dict[str, InnerPayment] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)

    async def node(self) -> PayerNode:
        """Return who pays."""
        self._begin()
        return PayerNode(pubkey=self.pubkey, height=self.height, synced=self.synced)

    async def spendable(self) -> Sats:
        """Return what can be sent."""
        self._begin()
        return Sats(self.has_sats - -(-self.spent_msat // 1_000))

    async def decode(self, request: str) -> InnerInvoice | WrapRefused:
        """Decode an invoice of the LSP."""
        self._begin()
        if not request.startswith("lnbcrt1"):
            return WrapRefused("invoice not for current active network 'regtest'")
        sold = self._sold(request)
        return sold.invoice if sold else WrapRefused("invalid checksum")

    async def pay(self, request: str, *, fee_limit: Sats) -> WrapRefused | None:
        """Begin to pay."""
        self._begin()
        sold = self._sold(request)
        if sold is None:
            return WrapRefused("invalid checksum")
        if sold.invoice.expires <= self.lsp.clock() - self.slow:
            return WrapRefused("invoice expired")
        known = self.paid.get(sold.invoice.payment_hash)
        if known is not None and known.state is not PaidState.FAILED:
            return None
        if self.refuses:
            return WrapRefused("no")
        self.sent.append(request)
        if self.no_route or self.routing_msat > fee_limit * 1_000:
            self._keep(sold, InnerPayment(state=PaidState.FAILED, why=NO_ROUTE))
        else:
            self._keep(sold, InnerPayment(state=PaidState.IN_FLIGHT))
            if self.lsp.answers:
                self.resolve(sold)
        self._end("pay")
        return None

    async def payment(self, payment_hash: str) -> InnerPayment:
        """Return what became of a payment."""
        self._begin()
        found = self.paid.get(payment_hash) or InnerPayment(state=PaidState.NONE)
        self._end("payment")
        return found

    async def output_sats(self, point: Outpoint, *, since: int) -> Sats | None:
        """Return what an output has."""
        self._begin()
        block, sats = self.lsp.chain.get(point, (self.height + 1, Sats(0)))
        return sats if since <= block <= self.height else None

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def resolve(self, sold: SoldChannel) -> None:
        """Let the LSP claim what it is being paid, or refuse it."""
        if not self.lsp.claims:
            self._keep(sold, InnerPayment(state=PaidState.FAILED, why=REFUSED))
            self.lsp.say(sold, LspState.FAILED)
            return
        if self.lsp.opens:
            self.lsp.open(sold, height=self.height)
        msat = sold.invoice.msat + self.routing_msat
        done = InnerPayment(
            state=PaidState.SUCCEEDED, preimage=sold.preimage, msat=msat
        )
        self._keep(sold, done)

    def mine(self, blocks: int = 1) -> None:
        """Let blocks come."""
        self.height += blocks

    @property
    def spent_msat(self) -> int:
        """What was paid, with routing."""
        return sum(each.msat for each in self.paid.values())

    def _sold(self, request: str) -> SoldChannel | None:
        found = (e for e in self.lsp.sold.values() if e.invoice.request == request)
        return next(found, None)

    def _keep(self, sold: SoldChannel, payment: InnerPayment) -> None:
        self.paid[sold.invoice.payment_hash] = payment

    def _begin(self) -> None:
        if self.away:
            raise SellerAway(why="lnd does not answer", retry_after_s=1)

    def _end(self, call: str) -> None:
        if self.loses == call:
            self.loses = ""
            raise SellerAway(why="the answer was lost", retry_after_s=1)
