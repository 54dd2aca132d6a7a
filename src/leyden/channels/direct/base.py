"""The interface of sellers, who open channels to the nodes that buyers name.

As with payments there are three answers: yes, no, and unknown, which is the exception
SellerAway. Every method may be called any number of times; of openings for one order
at most one ever confirms, because all of them spend the same coins.
"""

from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from leyden.base.rules.units import Sats
from leyden.channels.direct.messages import Messages
from leyden.channels.direct.rules.fundings import WalletTransaction
from leyden.channels.direct.rules.jit import Forward, HeldHtlc, HtlcAnswer, JitChannel
from leyden.channels.direct.rules.openings import (
    ClosedChannel,
    Coin,
    Opening,
    OpeningRefused,
    SellerWallet,
)
from leyden.channels.direct.rules.purchases import LspInfo, LspOrder, LspRefused
from leyden.channels.direct.rules.wrapped import (
    HoldInvoice,
    InnerInvoice,
    InnerPayment,
)
from leyden.channels.rules.payments import Outpoint
from leyden.channels.rules.pricing import Channel
from leyden.errors import SellerAway
from leyden.values import Struct


class WantedOpening(Struct, frozen=True, kw_only=True):
    """A channel to open. Its memo is the order's id, by which it is found again."""

    order_id: str
    pubkey: str  # of the peer
    capacity: Sats
    announce: bool
    coins: tuple[Coin, ...]  # all that may be spent for it
    fee_sat_per_vb: int
    zero_conf: bool = False  # usable before its transaction is confirmed; private only
    # The longest delay that the peer may ask of our balance, in blocks; 0: lnd's own.
    max_local_csv: int = 0


class BumpRefused(Struct, frozen=True):
    """The seller's lnd refused to bump a transaction."""

    why: str
    forbidden: bool = False  # by our macaroon


class Seller(Protocol):
    """An lnd with a wallet of its own, from which channels are opened."""

    async def wallet(self) -> SellerWallet:
        """Return the seller's keys, coins and chain."""
        ...

    async def connect(self, pubkey: str, addresses: Sequence[str]) -> bool:
        """Try these HOST:PORT until the peer is connected; return whether it is."""
        ...

    async def features(self, pubkey: str) -> frozenset[int] | None:
        """Return the feature bits of a connected peer; None while they are unknown."""
        ...

    async def find(self, order_id: str, coins: Sequence[Coin]) -> Opening:
        """Return the state of the opening for an order that reserved these coins."""
        ...

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        """Open a channel to a connected peer; return once both have signed it.

        A refusal may concern this call alone, because an earlier one is under way:
        call `find` to know. The channel may be opened even if this raises SellerAway.
        """
        ...

    async def closed(self) -> list[ClosedChannel]:
        """List channels that are closed, or being closed."""
        ...

    async def channel_ids(self, pubkey: str) -> dict[str, str]:
        """Return the short channel ids of a node's open, confirmed channels, by point.

        As `BLOCKxTRANSACTIONxOUTPUT`.
        """
        ...

    async def spending(
        self, coins: Collection[Outpoint], *, since: int
    ) -> list[WalletTransaction]:
        """List transactions that spend these coins, and those that spend their change.

        The list has unconfirmed transactions, and those in blocks since `since`. A
        replaced transaction may be in it until its replacement is confirmed.
        """
        ...

    async def bump(self, outpoint: Outpoint, fee: Sats) -> BumpRefused | None:
        """Spend an unconfirmed output of the wallet to itself, with that fee.

        A second call with a higher fee replaces the first transaction.
        """
        ...

    async def denied(self) -> list[str]:
        """List the permissions for bumps and conflicts that our macaroon lacks."""
        ...

    async def inbound(self) -> Sats:
        """Return what payers can send through the seller's announced channels."""
        ...

    async def address(self) -> str:
        """Return a new address of the wallet, to deposit coins."""
        ...

    async def close(self) -> None:
        """Close the connections; the next call opens them again."""
        ...


class Interception(Protocol):
    """HTLCs that an lnd asks us about, for as long as we are connected.

    It asks again about all that are held whenever somebody connects.
    """

    def htlcs(self) -> AsyncGenerator[HeldHtlc, None]:
        """Yield HTLCs as they arrive; raise SellerAway when none can arrive."""
        ...

    async def answer(self, answer: HtlcAnswer) -> None:
        """Decide about an HTLC; a second answer to it ends the connection."""
        ...


class Forwarding(Protocol):
    """What the purse's lnd forwards, and what it asks before it does."""

    def intercept(self) -> AbstractAsyncContextManager[Interception]:
        """Connect; raise SellerAway if lnd does not respond, or serves another."""
        ...

    async def channels(self) -> list[JitChannel]:
        """List the open channels."""
        ...

    async def add_alias(self, channel: JitChannel, scid: int) -> None:
        """Let payments to this channel id pass over an active channel."""
        ...

    async def forwards(self, since: datetime) -> list[Forward]:
        """List the claimed HTLCs that were forwarded since then."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class Unpublished(Protocol):
    """Channels whose funding transaction is published when we say so."""

    async def open(
        self, wanted: WantedOpening, store: Callable[[str], Awaitable[None]]
    ) -> Opening | OpeningRefused:
        """Open a channel to a connected peer; return once both have signed it.

        Its coins are locked, and its transaction is signed and stored, before the peer
        is asked to sign. The channel may be opened even if this raises SellerAway.
        """
        ...

    async def publish(
        self, order_id: str, transaction: str, coins: Sequence[Coin]
    ) -> str:
        """Publish it; return why that is impossible now, else "". It can be repeated.

        Once it returns "", lnd has it, and publishes it itself until it is confirmed.
        Its coins are spent then, and no longer locked.
        """
        ...

    async def give_up(self, order_id: str, point: str, coins: Sequence[Coin]) -> None:
        """Forget the order's opening, or its channel, and unlock its coins.

        Nothing may be in that channel. It can be repeated.
        """
        ...

    async def denied(self) -> list[str]:
        """List the permissions that our macaroon lacks."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class WrapRefused(Struct, frozen=True):
    """The purse's lnd refused a call, and did nothing."""

    why: str


class Wrapping(Protocol):
    """The purse's invoices, and its payments of other nodes' invoices.

    There are three answers, as everywhere about money: SellerAway is "not known".
    """

    async def decode(self, request: str) -> InnerInvoice | WrapRefused:
        """Decode an invoice of our network."""
        ...

    async def hold(
        self, inner: InnerInvoice, *, msat: int, lives_s: int, delta: int
    ) -> HoldInvoice | WrapRefused:
        """Create a hold invoice with the same payment hash, or return the first one."""
        ...

    async def pending(self) -> dict[str, HoldInvoice]:
        """Return invoices that are neither settled nor cancelled, by payment hash.

        It may leave some out: call `find` for those.
        """
        ...

    async def find(self, payment_hash: str) -> HoldInvoice:
        """Return a hold invoice's state."""
        ...

    async def settle(self, preimage: str) -> bool:
        """Settle a held payment; return False if it is gone for good."""
        ...

    async def cancel(self, payment_hash: str) -> bool:
        """Cancel an invoice; return False if it is settled."""
        ...

    async def pay(
        self, request: str, channel: JitChannel, *, cltv_limit: int
    ) -> WrapRefused | None:
        """Pay an invoice over this channel, for no fee; return once it is decided.

        None says nothing of how it ended: that is in `payment`. A second call while
        the first goes on changes nothing.
        """
        ...

    async def payment(self, payment_hash: str) -> InnerPayment:
        """Return what became of the payment of an invoice."""
        ...

    async def decided(self, payment_hash: str) -> None:
        """Return once a payment that is in flight is decided, however long that takes.

        It may return earlier: ask `payment`.
        """
        ...

    async def receivable_msat(self, peer: str) -> int:
        """Return what a node can be sent over its largest active channel with us."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class PayerNode(Struct, frozen=True, kw_only=True):
    """The lnd that pays, and its chain."""

    pubkey: str
    height: int
    synced: bool


class Payer(Protocol):
    """An lnd that pays other LSPs for channels; never the treasury's.

    As everywhere about money there are three answers: SellerAway is "not known".
    """

    async def node(self) -> PayerNode:
        """Return who pays."""
        ...

    async def spendable(self) -> Sats:
        """Return what its channels can send."""
        ...

    async def decode(self, request: str) -> InnerInvoice | WrapRefused:
        """Decode an invoice of our network."""
        ...

    async def pay(self, request: str, *, fee_limit: Sats) -> WrapRefused | None:
        """Begin to pay an invoice, whose routing costs so much at most.

        None says nothing of how it ended: that is in `payment`. A second call pays
        nothing again that is paid, or may be. A refusal says nothing of earlier calls:
        an invoice may expire while its payment is in flight.
        """
        ...

    async def payment(self, payment_hash: str) -> InnerPayment:
        """Return what became of the payment of an invoice."""
        ...

    async def output_sats(self, point: Outpoint, *, since: int) -> Sats | None:
        """Return what an output in a block since then has; None if no block has it."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class Lsp(Protocol):
    """Another LSP, which sells channels over LSPS1 and HTTP."""

    async def info(self) -> LspInfo:
        """Return what it sells."""
        ...

    async def order(self, channel: Channel) -> LspOrder | LspRefused:
        """Order a channel, which costs nothing until it is paid."""
        ...

    async def find(self, order_id: str) -> LspOrder:
        """Return an order, by the LSP's id."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class Lsps:
    """The LSPs that channels are bought from, by URL; also those no longer listed."""

    def __init__(
        self, listed: Sequence[str] = (), connect: Callable[[str], Lsp] | None = None
    ) -> None:
        self.listed = tuple(listed)
        self._connect = connect
        self._lsps: dict[str, Lsp] = {}

    def at(self, url: str) -> Lsp:
        """Return the LSP at a URL."""
        if url not in self._lsps:
            if self._connect is None:
                raise SellerAway(why=f"no channels are bought from {url}")
            self._lsps[url] = self._connect(url)
        return self._lsps[url]

    async def close(self) -> None:
        """Close the connections."""
        for each in self._lsps.values():
            await each.close()


class Purse(Struct, frozen=True, kw_only=True):
    """The lnd of just-in-time channels: never the treasury's, nor the seller's."""

    seller: Seller
    messages: Messages
    forwarding: Forwarding
    wrapping: Wrapping | None = None  # None: no invoices are wrapped
    unpublished: Unpublished | None = None  # None: no node is asked to trust us
