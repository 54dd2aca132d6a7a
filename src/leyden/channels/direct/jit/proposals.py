"""The offer of wrapped invoices, to anybody over HTTP.

The fee and the promise of it are stored nowhere. A proposal makes an order, as
`lsps2.buy` does, and an invoice at the purse's lnd: both are limited in number, for a
node, for an address and in total, and both expire.
"""

import hmac
import secrets
from datetime import datetime, timedelta
from typing import Any, Final

from leyden.base.database.stores import Stores
from leyden.base.rules.times import from_us
from leyden.base.rules.units import Sats
from leyden.channels.direct import reservations
from leyden.channels.direct.base import Purse, Wrapping, WrapRefused
from leyden.channels.direct.jit import purse as purses
from leyden.channels.direct.jit.offers import JitOffers
from leyden.channels.direct.rules import jit, wrapped
from leyden.channels.direct.rules.jit import JitOrder, JitStatus
from leyden.channels.direct.rules.openings import SellerWallet, takes_zero_conf
from leyden.channels.direct.rules.wrapped import (
    FeeQuote,
    InnerInvoice,
    PaidState,
    WrappedInvoice,
)
from leyden.channels.services import ChannelServices, JitSettings
from leyden.errors import Conflict, Malformed, SellerAway, SoldOut, TooMany

_PROMISE: Final = "fee of a wrapped invoice"
_FEE_LIVES: Final = timedelta(minutes=10)
_RANDOM: Final = 2**53
_NEVER: Final = from_us(0)
_AGAIN_S: Final = 600
# Each is an invoice of the purse's lnd.
MOST_OPEN: Final = 500
MOST_OF_ADDRESS: Final = 20


class Proposals:
    """Wraps invoices of nodes that are connected to the purse's lnd."""

    def __init__(
        self, channels: ChannelServices, purse: Purse, rules: JitSettings
    ) -> None:
        self._channels, self._purse, self._rules = channels, purse, rules
        self._offers = JitOffers(channels, purse, rules)
        self._reader = channels.database.reader

    async def info(self) -> dict[str, Any]:
        """Return the purse's key and address, for nodes to connect to."""
        wallet = await purses.read(self._channels, self._purse)
        pubkey, _, address = wallet.uri.partition("@")
        host, _, port = address.rpartition(":")
        methods = []
        if host:
            kind = "torv3" if host.endswith(".onion") else _kind(host)
            at = host.removeprefix("[").removesuffix("]")
            methods.append({"address": at, "port": int(port), "type": kind})
        return {"connection_methods": methods, "pubkey": pubkey}

    async def fee(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the fee for a payment to a node, with a promise of it."""
        amount, peer = wrapped.parse_amount(body), wrapped.parse_key(body)
        fee = await self._current_fee(peer, amount)
        quote = FeeQuote(
            peer=peer,
            valid_until=self._channels.clock() + _FEE_LIVES,
            amount_msat=amount,
            fee_msat=fee,
        )
        # Voltage documents the first name, and ZEUS reads the second.
        return {
            "amount_msat": fee,
            "fee_amount_msat": fee,
            "id": quote.id(self._promise(quote)),
        }

    async def propose(self, body: dict[str, Any], address: str) -> dict[str, Any]:
        """Return an invoice with the same payment hash, for the fee more.

        The same proposal gets the same invoice again, as long as nobody has paid it.
        """
        request = wrapped.parse_request(body)
        wallet = await purses.read(self._channels, self._purse)
        inner = await self._wrapping.decode(request)
        if isinstance(inner, WrapRefused):
            raise Malformed(f"bolt11: {inner.why}")
        now = self._channels.clock()
        wrapped.check_inner(inner, now=now, purse=wallet.pubkey)
        fee = await self._fee_for(body, inner, now)
        if not fee:
            # It can be paid over a channel that the node has with us already.
            if wallet.pubkey not in inner.hints:
                raise Malformed(
                    "bolt11: names no channel with the node that wraps it, over which "
                    "it can be paid without a fee; create one with route hints"
                )
            return {"jit_bolt11": request}
        order, known = await self._order(inner, fee, wallet, address, now)
        if known.wrapped:
            return {"jit_bolt11": known.wrapped}
        invoice = await self._wrapping.hold(
            inner,
            msat=order.size_msat,
            lives_s=int((order.valid_until - now).total_seconds()),
            delta=wrapped.delta_of(inner.delta),
        )
        if isinstance(invoice, WrapRefused):
            raise Conflict(f"bolt11: can't be wrapped: {invoice.why}")
        async with self._channels.database.transaction() as tx:
            await tx.wrapped_invoices.created(order.id, invoice.request)
        return {"jit_bolt11": invoice.request}

    async def _fee_for(
        self, body: dict[str, Any], inner: InnerInvoice, now: datetime
    ) -> int:
        """Return the fee that was promised; without a promise, the fee of now."""
        if body.get("fee_id") is None:
            return await self._current_fee(inner.payee, inner.msat)
        quote, promise = wrapped.parse_fee_id(body["fee_id"], inner.payee)
        if not hmac.compare_digest(self._promise(quote), promise):
            raise Malformed(
                "fee_id: was not promised to the node of this invoice; ask for its fee"
            )
        if quote.valid_until <= now:
            raise Malformed("fee_id: has expired; ask for the fee again")
        if inner.msat > quote.amount_msat:
            raise Malformed(
                f"bolt11: its amount is more than {quote.amount_msat:,} msat, which "
                "the fee was asked for"
            )
        return quote.fee_msat

    async def _current_fee(self, peer: str, amount_msat: int) -> int:
        """Return the fee at present: 0 if a channel of the node has room."""
        if await self._wrapping.receivable_msat(peer) >= amount_msat:
            return 0
        offer = (await self._offers.offer()).as_json()
        return wrapped.whole(jit.price(offer, amount_msat))

    def _promise(self, quote: FeeQuote) -> bytes:
        return self._channels.sealer.digest(quote.promised, purpose=_PROMISE)

    @property
    def _wrapping(self) -> Wrapping:
        if self._purse.wrapping is None:
            raise SellerAway(why="no invoices are wrapped", retry_after_s=_AGAIN_S)
        return self._purse.wrapping

    async def _order(
        self,
        inner: InnerInvoice,
        fee: int,
        wallet: SellerWallet,
        address: str,
        now: datetime,
    ) -> tuple[JitOrder, WrappedInvoice]:
        """Return the invoice's order: a new one, or that of the same proposal."""
        known = await self._reader.wrapped_invoices.with_hash(inner.payment_hash)
        if known is not None:
            order = await self._reader.jit_orders.find(known.order_id)
            if (
                order is None
                or order.status is not JitStatus.SOLD
                or order.payment_hash  # it was held, and is about to be cancelled
                or order.valid_until <= now
                or known.inner != inner.request
                or known.closed
            ):
                raise _used()
            return order, known
        size = inner.msat + fee
        if size < self._rules.smallest * jit.MSAT:
            raise Malformed(
                "bolt11: its amount, with the fee, is below the minimum of "
                f"{self._rules.smallest:,} sat"
            )
        if size > self._rules.largest * jit.MSAT:
            raise Malformed(
                "bolt11: its amount, with the fee, is beyond the maximum of "
                f"{self._rules.largest:,} sat"
            )
        paid = await self._wrapping.payment(inner.payment_hash)
        if paid.state is not PaidState.NONE:
            raise _used()
        capacity = jit.capacity_for(size, self._rules.spare)
        await self._check_peer(inner.payee, wallet)
        reserved = await self._reader.jit_orders.reserved()
        if not reservations.choose_for(
            wallet, reserved, capacity, wallet.fee_sat_per_vb
        ):
            raise SoldOut("channels are sold out for now; try again later")
        lives = min(self._rules.lives, inner.expires - now - wrapped.SPARE)
        order = JitOrder(
            id=wrapped.id_from(secrets.randbelow(_RANDOM)),
            purse=wallet.pubkey,
            peer=inner.payee,
            status=JitStatus.SOLD,
            created=now,
            valid_until=now + lives,
            size_msat=size,
            fee_msat=fee,
            capacity=Sats(capacity),
            held_at=_NEVER,
            resumed_at=_NEVER,
        )
        added = WrappedInvoice(
            order_id=order.id,
            payment_hash=inner.payment_hash,
            inner=inner.request,
            wrapped="",
            delta=inner.delta,
            address=address,
        )
        async with self._channels.database.transaction() as tx:
            await self._offers.check_limits(tx, order.peer, now, purse=order.purse)
            await self._check_open(tx, address, order.purse)
            if not await tx.jit_orders.add(order):
                raise _used()  # two random numbers of 53 bits are the same
            if not await tx.wrapped_invoices.add(added):
                raise _used()
        return order, added

    async def _check_peer(self, peer: str, wallet: SellerWallet) -> None:
        features = await self._purse.seller.features(peer)
        if features is None:
            raise Conflict(f"connect your node to {wallet.uri} first, then try again")
        if not takes_zero_conf(features):
            raise Conflict(
                "your node does not support channels without confirmations: start its "
                "lnd with protocol.option-scid-alias and protocol.zero-conf"
            )

    async def _check_open(self, tx: Stores, address: str, purse: str) -> None:
        """Raise TooMany if too many invoices are open."""
        rows = tx.wrapped_invoices
        of_address = await rows.open_of_address(address, purse=purse) if address else 0
        of_all = await rows.count_open(purse=purse)
        if of_address >= MOST_OF_ADDRESS or of_all >= MOST_OPEN:
            raise TooMany(
                "there are too many unpaid wrapped invoices; wait until they expire",
                retry_after_s=_AGAIN_S,
            )


def _used() -> Conflict:
    return Conflict("bolt11: its payment hash was used before; create a new invoice")


def _kind(host: str) -> str:
    if host.startswith("["):
        return "ipv6"
    return "ipv4" if host.replace(".", "").isdecimal() else "dns"
