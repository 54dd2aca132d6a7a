"""A treasury in memory, with a chain of its own and methods to pay it.

It keeps the contract of `Payments` to the letter, unpleasant parts
included: what happens while nobody watches is not reported later, and an
answer can get lost although the call succeeded.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta

from leyden.base.rules.units import Sats
from leyden.channels.rules.payments import (
    Holdings,
    Invoice,
    InvoiceState,
    Outpoint,
    Output,
    PaidOrder,
    PaymentRequest,
    PaymentUpdate,
)
from leyden.errors import TreasuryAway
from leyden.values import Struct, field, replace


class PaymentFailed(Exception):
    """A payment that did not happen: the payer keeps the money."""


# Blocks until what a block pays its finder can be spent.
_RIPE = 100


class _Block(Struct):
    outputs: list[Output] = field(default_factory=list)
    reward: Output | None = None


class FakePayments:
    """Invoices, addresses and blocks in memory, for the length of a test."""

    def __init__(self, *, pubkey: str = f"02{'21' * 32}") -> None:
        self.pubkey = pubkey
        self.away = False
        self.answers_lost = 0  # so many of the next answers never arrive
        self.listeners = 0
        self.lock = 2_000  # blocks for which the next payments are held
        self.requests: dict[str, PaymentRequest] = {}  # by payment hash
        self.invoices: dict[str, Invoice] = {}
        self._blocks: list[_Block] = []
        self._mempool: list[Output] = []
        self._watchers: list[asyncio.Queue[PaymentUpdate | None]] = []
        self._transactions = 0
        self._addresses = 0
        # Handed out once more, as by an lnd that was restored from its seed.
        self.known_addresses: list[str] = []

    # What the platform asks.

    async def request(
        self,
        order_id: str,
        sats: Sats,
        *,
        lives: timedelta,  # noqa: ARG002  here they live as long as they must
        with_address: bool = True,
    ) -> PaymentRequest:
        """Create an address and an invoice, or return the existing invoice."""
        self._answer()
        payment_hash = hashlib.sha256(f"{order_id} {sats}".encode()).hexdigest()
        while self._is_cancelled(payment_hash):
            payment_hash = hashlib.sha256(payment_hash.encode()).hexdigest()
        request = PaymentRequest(
            order_id=order_id,
            sats=sats,
            onchain_address=self._new_address(order_id) if with_address else "",
            lightning_invoice=f"lnbcrt{sats}n1{payment_hash[:50]}",
            payment_hash=payment_hash,
        )
        if payment_hash not in self.requests:
            self.requests[payment_hash] = request
            self.invoices[payment_hash] = Invoice(
                payment_hash=payment_hash, state=InvoiceState.OPEN
            )
        self._lose()
        return request

    def _new_address(self, order_id: str) -> str:
        if self.known_addresses:
            return self.known_addresses.pop(0)
        self._addresses += 1
        # Of the order, too: a fake that is started again repeats no address.
        text = f"{order_id} {self._addresses}"
        return f"bcrt1q{hashlib.sha256(text.encode()).hexdigest()[:38]}"

    async def close(self) -> None:
        """Do nothing: it has no connections."""

    async def identity(self) -> str:
        """Return the treasury's public key."""
        self._answer()
        return self.pubkey

    async def lookup(self, requests: Sequence[PaymentRequest]) -> list[PaymentUpdate]:
        """Return updates for each one's invoice and outputs."""
        self._answer()
        found: list[PaymentUpdate] = []
        for request in requests:
            missing = Invoice(
                payment_hash=request.payment_hash, state=InvoiceState.MISSING
            )
            found.append(self.invoices.get(request.payment_hash, missing))
            found += [
                output
                for output in self.outputs()
                if output.address == request.onchain_address
            ]
        return found

    async def settle(self, request: PaymentRequest) -> bool:
        """Settle a held payment."""
        self._answer()
        invoice = self._known(request)
        if invoice.state is InvoiceState.ACCEPTED:
            self._become(invoice, InvoiceState.SETTLED)
        self._lose()
        return self.invoices[request.payment_hash].state is InvoiceState.SETTLED

    async def cancel(self, request: PaymentRequest) -> bool:
        """Cancel a held payment back, or an invoice that nobody paid."""
        self._answer()
        invoice = self._known(request)
        if invoice.state in {InvoiceState.OPEN, InvoiceState.ACCEPTED}:
            self._become(invoice, InvoiceState.CANCELLED)
        self._lose()
        return self.invoices[request.payment_hash].state is InvoiceState.CANCELLED

    async def watch(self) -> AsyncGenerator[PaymentUpdate, None]:
        """Yield all coins, then everything that happens from now on."""
        self._answer()
        queue = self.subscribe()
        self.listeners += 1
        try:
            for output in self.outputs():
                yield output
            while (update := await queue.get()) is not None:
                yield update
            raise TreasuryAway(retry_after_s=5)
        finally:
            self.listeners -= 1
            self._watchers.remove(queue)

    async def holdings(self) -> Holdings:
        """Return the balance: what was paid and not cancelled back."""
        self._answer()
        outputs = self.outputs()
        settled = self.invoices.values()
        return Holdings(
            confirmed=Sats(sum(each.sats for each in outputs if each.confirmations)),
            unconfirmed=Sats(
                sum(each.sats for each in outputs if not each.confirmations)
            ),
            in_channels=Sats(
                sum(each.sats for each in settled if each.state is InvoiceState.SETTLED)
            ),
            height=self.height,
            synced=True,
        )

    async def paid_orders(self) -> list[PaidOrder]:
        """List orders that were paid over Lightning."""
        self._answer()
        return [
            PaidOrder(
                order_id=self.requests[each.payment_hash].order_id,
                payment_hash=each.payment_hash,
                state=each.state,
                sats=each.sats,
            )
            for each in self.invoices.values()
            if each.state in {InvoiceState.ACCEPTED, InvoiceState.SETTLED}
        ]

    def _is_cancelled(self, payment_hash: str) -> bool:
        found = self.invoices.get(payment_hash)
        return found is not None and found.state is InvoiceState.CANCELLED

    def _known(self, request: PaymentRequest) -> Invoice:
        if (invoice := self.invoices.get(request.payment_hash)) is None:
            raise TreasuryAway(
                why="the treasury does not know an invoice of ours", retry_after_s=5
            )
        return invoice

    def _answer(self) -> None:
        if self.away:
            raise TreasuryAway(retry_after_s=5)

    def _lose(self) -> None:
        if self.answers_lost:
            self.answers_lost -= 1
            raise TreasuryAway(retry_after_s=5)

    # What the world does.

    def subscribe(self) -> asyncio.Queue[PaymentUpdate | None]:
        """Return a queue of every update from now on."""
        queue: asyncio.Queue[PaymentUpdate | None] = asyncio.Queue()
        self._watchers.append(queue)
        return queue

    def go_away(self) -> None:
        """Stop answering, and end every watch."""
        self.away = True
        for queue in self._watchers:
            queue.put_nowait(None)

    @property
    def height(self) -> int:
        """The number of blocks."""
        return len(self._blocks)

    def pay(self, request: PaymentRequest, sats: int | None = None) -> None:
        """Pay over Lightning: as in lnd never less, at most twice as much."""
        invoice = self.invoices[request.payment_hash]
        amount = request.sats if sats is None else sats
        if invoice.state is not InvoiceState.OPEN:
            raise PaymentFailed(f"the invoice is {invoice.state}")
        if not request.sats <= amount <= 2 * request.sats:
            raise PaymentFailed("the amount is refused")
        expires = self.height + self.lock
        self._become(
            replace(invoice, sats=Sats(amount), expires=expires), InvoiceState.ACCEPTED
        )

    def time_out(self, request: PaymentRequest) -> None:
        """Cancel a held payment back, as lnd does before its time lock expires."""
        invoice = self.invoices[request.payment_hash]
        if invoice.state is InvoiceState.ACCEPTED:
            self._become(invoice, InvoiceState.CANCELLED)

    def send(self, address: str, sats: int, *, txid: str | None = None) -> Outpoint:
        """Send coins; they are unconfirmed until the next block."""
        output = self._output(address, sats, txid=txid)
        self._mempool.append(output)
        self._tell(output.outpoint)
        return output.outpoint

    def mine_to(self, address: str, sats: int) -> Outpoint:
        """Mine an empty block whose reward goes to this address."""
        reward = self._output(address, sats)
        self._blocks.append(_Block(reward=reward))
        for output in self.outputs():
            self._tell(output.outpoint)
        return reward.outpoint

    def _output(self, address: str, sats: int, *, txid: str | None = None) -> Output:
        self._transactions += 1
        txid = txid or hashlib.sha256(b"%d" % self._transactions).hexdigest()
        return Output(
            outpoint=Outpoint(txid, 0),
            address=address,
            sats=Sats(sats),
            confirmations=0,
        )

    def replace(self, outpoint: Outpoint, *, sats: int) -> Outpoint:
        """Replace an unconfirmed payment with another fee, as a new transaction."""
        (lost,) = (each for each in self._mempool if each.outpoint == outpoint)
        self._mempool.remove(lost)
        return self.send(lost.address, sats)

    def mine(self, count: int = 1) -> None:
        """Mine unconfirmed payments into a block, and more blocks on top."""
        for _ in range(count):
            self._blocks.append(_Block(self._mempool))
            self._mempool = []
        for output in self.outputs():
            self._tell(output.outpoint)

    def reorganise(self, depth: int, *, drop: Sequence[Outpoint] = ()) -> None:
        """Undo blocks; their payments are unconfirmed again, except `drop`.

        Payments in `drop` are gone for good.
        """
        undone = self._blocks[len(self._blocks) - depth :]
        del self._blocks[len(self._blocks) - depth :]
        self._mempool = [
            output
            for block in undone
            for output in block.outputs
            if output.outpoint not in drop
        ] + self._mempool
        for output in self.outputs():
            self._tell(output.outpoint)

    def outputs(self) -> list[Output]:
        """Return every output, with its confirmations."""
        tip = len(self._blocks)
        mined = [
            replace(output, confirmations=tip - height)
            for height, block in enumerate(self._blocks)
            for output in block.outputs
        ]
        rewards = [
            replace(block.reward, confirmations=tip - height if ripe else 0)
            for height, block in enumerate(self._blocks)
            if block.reward is not None
            for ripe in [tip - height >= _RIPE]
        ]
        return mined + rewards + self._mempool

    def received(self) -> int:
        """Return the treasury's own sum: settled invoices and mined outputs."""
        return sum(
            invoice.sats
            for invoice in self.invoices.values()
            if invoice.state is InvoiceState.SETTLED
        ) + sum(output.sats for output in self.outputs() if output.confirmations)

    def _become(self, invoice: Invoice, state: InvoiceState) -> None:
        expires = invoice.expires if state is InvoiceState.ACCEPTED else 0
        changed = replace(invoice, state=state, expires=expires)
        self.invoices[invoice.payment_hash] = changed
        for queue in self._watchers:
            queue.put_nowait(changed)

    def _tell(self, outpoint: Outpoint) -> None:
        for output in self.outputs():
            if output.outpoint == outpoint:
                for queue in self._watchers:
                    queue.put_nowait(output)
