"""A platform that wraps invoices, its purse, and a node whose invoices they are."""

from dataclasses import dataclass, field
from datetime import timedelta

from leyden.channels.direct.base import Purse
from leyden.channels.direct.jit.proposals import Proposals
from leyden.channels.direct.rules.jit import JitOrder, JitStatus
from leyden.channels.direct.rules.wrapped import InnerInvoice
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.services import ChannelServices, JitSettings
from leyden.values import replace
from tests.channels.jit_harness import PEER, SIZE, JitHarness
from tests.fakes.wrapping import FakeWrapping
from tests.waiting import until

# Of a payment of 100,000 sat: 240 vbytes at 10 sat, and 1,000.
FEE = 3_400_000
INNER = SIZE - FEE


@dataclass
class WrappedHarness(JitHarness):
    """Everything around wrapped invoices."""

    rules: JitSettings = field(default_factory=lambda: JitSettings(wraps_invoices=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.wrapping = FakeWrapping(
            self.purse, self.forwarding, clock=lambda: self.orders.now
        )

    @property
    def channels(self) -> ChannelServices:
        """The services, with a purse that wraps."""
        purse = Purse(
            seller=self.purse,
            messages=self.messages,
            forwarding=self.forwarding,
            wrapping=self.wrapping,
        )
        return replace(super().channels, purse=purse)

    @property
    def proposals(self) -> Proposals:
        channels = self.channels
        assert channels.purse is not None
        return Proposals(channels, channels.purse, self.rules)

    async def wrapped(
        self, peer: str = PEER, *, msat: int = INNER, preimage: str = ""
    ) -> InnerInvoice:
        """Let a node have an invoice wrapped, as ZEUS does; return its own."""
        fee = await self.proposals.fee({"amount_msat": SIZE, "pubkey": peer})
        inner = self.wrapping.invoice(peer, msat, preimage=preimage)
        body = {"bolt11": inner.request, "fee_id": fee["id"], "simpleTaproot": False}
        answer = await self.proposals.propose(body, "192.0.2.1")
        assert set(answer) == {"jit_bolt11"}
        return inner

    async def order_of(self, inner: InnerInvoice) -> JitOrder:
        reader = self.orders.database.reader
        found = await reader.wrapped_invoices.with_hash(inner.payment_hash)
        assert found is not None
        order = await reader.jit_orders.find(found.order_id)
        assert order is not None
        return order

    async def turns(self, inner: InnerInvoice, status: JitStatus) -> JitOrder:
        """Wait for the order's status."""

        async def is_so() -> bool:
            return (await self.order_of(inner)).status is status

        try:
            await until(is_so, within_s=20)
        except TimeoutError:
            raise AssertionError(await self.order_of(inner)) from None
        return await self.order_of(inner)

    def state_of(self, inner: InnerInvoice) -> InvoiceState:
        """Return what the payer knows."""
        return self.wrapping.held[inner.payment_hash].invoice.state

    async def is_closed(self, inner: InnerInvoice) -> None:
        """Wait until nothing is left to do for it."""
        reader = self.orders.database.reader.wrapped_invoices

        async def closed() -> bool:
            found = await reader.with_hash(inner.payment_hash)
            return found is None or found.closed

        await until(closed, within_s=20)

    async def prove(self) -> None:
        """Every rule holds: nobody was paid for nothing, nor paid nobody."""
        assert self.wrapping.lost_msat == 0
        assert self.wrapping.kept_msat == 0
        await super().prove()

    def later(self, **of: float) -> None:
        self.orders.now += timedelta(**of)
