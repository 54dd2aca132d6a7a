"""A treasury, market, seller, purse and LSP that outlive the programs they serve.

The fakes, kept in a file that whoever acts holds locked.
"""

import asyncio
import contextlib
import fcntl
import os
import pickle
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

from leyden.base.rules.times import utc_now
from leyden.base.rules.units import Sats
from leyden.channels.direct.base import WantedOpening, WrapRefused
from leyden.channels.direct.rules.jit import Forward, HtlcAnswer, JitChannel
from leyden.channels.direct.rules.openings import (
    Coin,
    Opening,
    OpeningRefused,
    SellerWallet,
)
from leyden.channels.direct.rules.purchases import LspOrder, LspRefused
from leyden.channels.direct.rules.wrapped import InnerInvoice, InnerPayment
from leyden.channels.rules.payments import Outpoint, PaymentRequest, PaymentUpdate
from leyden.channels.rules.pricing import Channel, Quote
from leyden.channels.tickets.rules.tickets import NoTicket, Progress, Ticket
from leyden.channels.tickets.simulated import SimulatedMarket
from tests.fakes.forwarding import PAYERS, FakeForwarding, Paid
from tests.fakes.lsp import FakeLsp, FakePayer
from tests.fakes.payments import FakePayments
from tests.fakes.seller import FakeSeller
from tests.fakes.unpublished import FakeUnpublished

# Of the system, once something has happened outside of the program.
HAPPENED = "utimensat"
_LOOK_S = 0.02


class _Shared:
    """Keeps some of its fields in a file."""

    _fields: tuple[str, ...]
    _kept: Path
    _is_held = False

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Be the only one who acts, on what there is now."""
        assert not self._is_held, "a fake that waits while it is held stops everything"
        with self._kept.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._is_held = True
            try:
                with self._loaded():
                    yield
            finally:
                self._is_held = False

    @contextlib.contextmanager
    def _loaded(self) -> Iterator[None]:
        if self._kept.exists():
            vars(self).update(pickle.loads(self._kept.read_bytes()))  # noqa: S301
        before = self._pickled()
        yield
        if (after := self._pickled()) == before and self._kept.exists():
            return
        # Renamed into place: who is killed half-way has done nothing.
        draft = self._kept.with_suffix(".draft")
        draft.write_bytes(after)
        draft.replace(self._kept)
        os.utime(self._kept)  # to be killed at: done, and not stored yet

    def _pickled(self) -> bytes:
        return pickle.dumps({name: vars(self)[name] for name in self._fields})


class SharedTreasury(_Shared, FakePayments):
    _fields = (
        *("requests", "invoices", "_blocks", "_mempool", "_transactions"),
        "_addresses",
    )

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._kept = path

    async def request(
        self, order_id: str, sats: Sats, *, lives: timedelta, with_address: bool = True
    ) -> PaymentRequest:
        with self.held():
            return await super().request(
                order_id, sats, lives=lives, with_address=with_address
            )

    async def lookup(self, requests: Sequence[PaymentRequest]) -> list[PaymentUpdate]:
        with self.held():
            return await super().lookup(requests)

    async def settle(self, request: PaymentRequest) -> bool:
        with self.held():
            return await super().settle(request)

    async def cancel(self, request: PaymentRequest) -> bool:
        with self.held():
            return await super().cancel(request)

    async def watch(self) -> AsyncGenerator[PaymentUpdate, None]:
        payment_updates: set[PaymentUpdate] = set()
        while True:
            with self.held():
                all_: list[PaymentUpdate] = [*self.invoices.values(), *self.outputs()]
            for update in all_:
                if update not in payment_updates:
                    payment_updates.add(update)
                    yield update
            await asyncio.sleep(_LOOK_S)

    def pay(self, request: PaymentRequest, sats: int | None = None) -> None:
        with self.held():
            super().pay(request, sats)

    def send(self, address: str, sats: int, *, txid: str | None = None) -> Outpoint:
        with self.held():
            return super().send(address, sats, txid=txid)

    def mine(self, count: int = 1) -> None:
        with self.held():
            super().mine(count)


class SharedMarket(_Shared, SimulatedMarket):
    _fields = ("_tickets",)

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._kept = path

    async def offer(self, order_id: str, quote: Quote) -> Ticket | NoTicket:
        with self.held():
            return await super().offer(order_id, quote)

    async def progress(self, refs: Sequence[str]) -> Mapping[str, Progress]:
        with self.held():
            return await super().progress(refs)

    async def withdraw(self, order_id: str, ref: str) -> bool:
        with self.held():
            return await super().withdraw(order_id, ref)

    def register(self, text: str) -> bool:
        with self.held():
            return super().register(text)

    def match(self, text: str, *, unused: int = 0) -> bool:
        with self.held():
            return super().match(text, unused=unused)


class SharedSeller(_Shared, FakeSeller):
    _fields = ("coins", "channels", "online")

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._kept = path

    async def wallet(self) -> SellerWallet:
        with self.held():
            return await super().wallet()

    async def connect(self, pubkey: str, addresses: Sequence[str]) -> bool:
        with self.held():
            return await super().connect(pubkey, addresses)

    async def find(self, order_id: str, coins: Sequence[Coin]) -> Opening:
        with self.held():
            return await super().find(order_id, coins)

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        with self.held():
            return await super().open(wanted)


class SharedForwarding(_Shared, FakeForwarding):
    """What the purse's lnd forwards; it asks whoever connects about what it holds."""

    _fields = ("paid", "aliases", "history", "lost_msat", "_replayed")

    def __init__(self, path: Path, purse: SharedSeller) -> None:
        super().__init__(purse)
        self._purse, self._kept = purse, path

    @asynccontextmanager
    async def intercept(self) -> AsyncIterator[FakeForwarding]:
        with self.held():
            pass  # it is read
        async with super().intercept() as connection:
            yield connection

    async def answer(self, answer: HtlcAnswer) -> None:
        with self.held():
            await super().answer(answer)

    async def channels(self) -> list[JitChannel]:
        with self._purse.held(), self.held():
            return await super().channels()

    async def add_alias(self, channel: JitChannel, scid: int) -> None:
        with self.held():
            await super().add_alias(channel, scid)

    async def forwards(self, since: datetime) -> list[Forward]:
        with self.held():
            return await super().forwards(since)

    def purse_held(self) -> AbstractContextManager[None]:
        """Read the purse for the block, and keep it."""
        return self._purse.held()

    def pay(
        self, scid: int, payment_hash: str, *amounts: int, by: str = PAYERS
    ) -> list[Paid]:
        with self.held():
            return super().pay(scid, payment_hash, *amounts, by=by)


class SharedUnpublished(_Shared, FakeUnpublished):
    """The purse's channels that are published when we say so."""

    _fields = ("published", "robbed_msat", "_made")

    def __init__(self, path: Path, forwards: SharedForwarding) -> None:
        super().__init__(forwards)
        self._forwards, self._kept = forwards, path

    def fund(self, wanted: WantedOpening) -> str | OpeningRefused:
        with self._forwards.purse_held(), self.held():
            return super().fund(wanted)

    def sign(self, transaction: str) -> Opening:
        with self._forwards.purse_held(), self.held():
            return super().sign(transaction)

    async def publish(
        self, order_id: str, transaction: str, coins: Sequence[Coin]
    ) -> str:
        with self._forwards.purse_held(), self.held():
            return await super().publish(order_id, transaction, coins)

    async def give_up(self, order_id: str, point: str, coins: Sequence[Coin]) -> None:
        with self._forwards.purse_held(), self._forwards.held(), self.held():
            await super().give_up(order_id, point, coins)


class SharedLsp(_Shared, FakeLsp):
    """Another LSP, and the chain with its channels."""

    _fields = ("sold", "chain")

    def __init__(self, path: Path) -> None:
        super().__init__(utc_now)
        self._kept = path

    async def order(self, channel: Channel) -> LspOrder | LspRefused:
        with self.held():
            return await super().order(channel)

    async def find(self, order_id: str) -> LspOrder:
        with self.held():
            return await super().find(order_id)


class SharedPayer(_Shared, FakePayer):
    """The lnd that pays it."""

    _fields = ("paid", "sent", "height")

    def __init__(self, path: Path, lsp: SharedLsp) -> None:
        super().__init__(lsp)
        self._lsp, self._kept = lsp, path

    async def decode(self, request: str) -> InnerInvoice | WrapRefused:
        with self._lsp.held():
            return await super().decode(request)

    async def pay(self, request: str, *, fee_limit: Sats) -> WrapRefused | None:
        # The LSP is kept first: killed between, it is paid, and opens, once more.
        with self.held(), self._lsp.held():
            return await super().pay(request, fee_limit=fee_limit)

    async def payment(self, payment_hash: str) -> InnerPayment:
        with self.held():
            return await super().payment(payment_hash)

    async def output_sats(self, point: Outpoint, *, since: int) -> Sats | None:
        with self.held(), self._lsp.held():
            return await super().output_sats(point, since=since)

    def mine(self, blocks: int = 1) -> None:
        with self.held():
            super().mine(blocks)
