"""The LSPS1 server: offers and orders, for all transports.

An order is a direct order like any other: its payment is held until the channel is
published. But it reserves coins only once it is paid. It belongs to the operator's
organization, but uses no credit of it. What a client pays beyond its invoice becomes
that organization's credit: the client has no account.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from leyden.base.database.stores import Stores
from leyden.base.rules.units import Sats
from leyden.channels import orders
from leyden.channels.direct import reservations
from leyden.channels.direct.destinations import refuse_own
from leyden.channels.direct.lsps1 import answers, limits
from leyden.channels.direct.lsps1.lease_extensions import LeaseExtensions
from leyden.channels.direct.lsps1.limits import Orderer
from leyden.channels.direct.lsps1.rpc import Transaction
from leyden.channels.direct.rows.lsps1_orders import Lsps1Order
from leyden.channels.direct.rules import lsps1
from leyden.channels.direct.rules.lsps1 import SaleLimits, Transport, WantedChannel
from leyden.channels.direct.rules.openings import ZERO_CONF
from leyden.channels.rules import pricing
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.pricing import Channel
from leyden.channels.services import ChannelServices, Lsps1Settings
from leyden.errors import Conflict, Malformed, SellerAway, Stale, TooMany
from leyden.nodes.rules import public_keys
from leyden.values import Struct

# An offer "should change at most once a day"; a new lnd is noticed sooner.
_FRESH_S: Final = 60.0
_TRIES: Final = 5
_OUT_S: Final = 60
_MAX_WAITING: Final = 64  # requests while the treasury hangs
_BUSY_S: Final = 5


class _Cached(Struct, frozen=True):
    """The seller's state at the last check."""

    offer: SaleLimits
    uri: str
    at_s: float


class Lsps1:
    """Sells direct channels to any LSPS1 client."""

    def __init__(self, channels: ChannelServices) -> None:
        if channels.rules.lsps1 is None:
            raise ValueError("this platform sells no channels over LSPS1")
        self._channels = channels
        self._rules: Lsps1Settings = channels.rules.lsps1
        self._extensions = (
            LeaseExtensions(channels, self._rules) if self._rules.extends else None
        )
        self._cached: _Cached | None = None
        self._organization_id = ""
        # One after the other, so that a flood creates no invoices beyond the limits.
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def result(
        self, peer: str, request: Mapping[str, Any], transaction: Transaction | None
    ) -> dict[str, Any]:
        """Return the result of a peer's request."""
        params = lsps1.params_of(request)
        who = Orderer(source=Transport.BOLT8, peer=peer)
        match request["method"]:
            case "lsps0.list_protocols":
                lsps1.check_known(params, ())
                return {"protocols": [1, 7] if self._extensions else [1]}
            case "lsps1.get_info":
                lsps1.check_known(params, ())
                return await self.info()
            case "lsps1.create_order":
                made = await self.create(params, who, transaction=transaction)
            case "lsps1.get_order":
                lsps1.check_known(params, ("order_id",))
                made = await self.get(params.get("order_id"), who)
            case str(method):
                return await self._extend(peer, method, params, transaction)
        return await self.show(*made, hides_hold=lsps1.is_ldk(request["id"]))

    async def _extend(
        self,
        peer: str,
        method: str,
        params: Mapping[str, Any],
        transaction: Transaction | None,
    ) -> dict[str, Any]:
        """Return the result of a request of LSPS7, if it is offered."""
        if self._extensions is not None:
            match method:
                case "lsps7.get_extendable_channels":
                    lsps1.check_known(params, ())
                    found = await self._extensions.list_(peer)
                    return {"extendable_channels": found}
                case "lsps7.create_order":
                    async with self._in_turn():
                        return await self._extensions.create(peer, params, transaction)
                case "lsps7.get_order":
                    lsps1.check_known(params, ("order_id",))
                    return await self._extensions.get(peer, params.get("order_id"))
        raise lsps1.unknown_method()

    async def info(self) -> dict[str, Any]:
        """Return the offer; raise SellerAway while it is unknown."""
        return (await self._refresh()).offer.as_json()

    async def uri(self) -> str:
        """Return the address for clients to connect to."""
        return (await self._refresh()).uri

    async def create(
        self,
        params: Mapping[str, Any],
        who: Orderer,
        *,
        transaction: Transaction | None = None,
        beside: Collection[str] = (),
    ) -> tuple[Order, Lsps1Order]:
        """Create an order and its invoice.

        `transaction` opens transactions, which may be bound to the caller's task.
        """
        offer = (await self._refresh()).offer
        wanted = lsps1.parse_order(params, offer, beside=beside)
        if not public_keys.is_valid(who.peer):
            raise lsps1.invalid(
                "public_key", "must be a node's public key: 66 hex digits"
            )
        try:
            await refuse_own(self._channels, who.peer, field="public_key")
        except Malformed:
            raise lsps1.rejected("this node belongs to the platform itself") from None
        transaction = transaction or self._channels.database.transaction
        order_id = f"{uuid.uuid4()}{orders.SUFFIX}"  # a retry has the same invoice
        async with self._in_turn():
            for _ in range(_TRIES - 1):
                try:
                    return await self._create(order_id, wanted, who, transaction)
                except Stale:
                    continue
            return await self._create(order_id, wanted, who, transaction)

    @asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        if self._waiting >= _MAX_WAITING:
            raise TooMany(
                "too many orders are being placed; try again in a moment",
                retry_after_s=_BUSY_S,
            )
        self._waiting += 1
        try:
            async with self._turn:
                yield
        finally:
            self._waiting -= 1

    async def get(self, order_id: object, who: Orderer) -> tuple[Order, Lsps1Order]:
        """Return an order; raise the same fault if it is missing or another client's.

        Over BOLT8 the peer must be the one that ordered. Over HTTP the id is the
        secret, which only the client knows.
        """
        if not isinstance(order_id, str):
            raise lsps1.invalid("order_id", "must be an order's id")
        if not lsps1.is_id(order_id):
            raise lsps1.not_found()
        reader = self._channels.database.reader
        details = await reader.lsps1_orders.find(order_id)
        if details is None or details.source is not who.source:
            raise lsps1.not_found()
        order = await reader.orders.get(order_id)
        is_theirs = order.quote.channel.node_key == who.peer
        if who.source is Transport.BOLT8 and not is_theirs:
            raise lsps1.not_found()
        return order, details

    async def show(
        self, order: Order, details: Lsps1Order, *, hides_hold: bool = False
    ) -> dict[str, Any]:
        """Return an order in the format of LSPS1."""
        reader = self._channels.database.reader
        return await answers.show(reader, order, details, hides_hold=hides_hold)

    async def organization_id(self) -> str:
        """Return the id of the operator's organization; raise SellerAway if none."""
        if not self._organization_id:
            self._organization_id = await find_organization(
                self._channels.database.reader, self._rules.organization
            )
        return self._organization_id

    async def _refresh(self) -> _Cached:
        now_s = time.monotonic()
        if self._cached is None or now_s - self._cached.at_s > _FRESH_S:
            wallet = await reservations.read_wallet(self._channels)
            offer = offer_of(self._channels, zero_conf=ZERO_CONF in wallet.features)
            self._cached = _Cached(offer, wallet.uri, now_s)
        return self._cached

    async def _create(
        self,
        order_id: str,
        wanted: WantedChannel,
        who: Orderer,
        transaction: Transaction,
    ) -> tuple[Order, Lsps1Order]:
        channels, rules = self._channels, self._rules
        details = Lsps1Order(
            order_id=order_id,
            source=who.source,
            address=who.address,
            confirmations=wanted.confirmations,
            within_blocks=wanted.within_blocks,
            token=wanted.token,
        )
        channel = Channel(
            capacity=wanted.lsp_balance,
            lease_duration_blocks=wanted.expiry_blocks,
            node_key=who.peer,
            announce=wanted.announce,
            zero_conf=not wanted.confirmations,
        )
        now = channels.clock()
        order = Order(
            id=order_id,
            organization_id=await self.organization_id(),
            status=OrderStatus.WAITING_PAYMENT,
            created=now,
            expires=now + rules.lives,
            quote=pricing.quote_in_full(channel, channels.rules.terms),
        )
        reserve = await limits.prepare(channels, rules, who, details, order)
        # No address: nobody would see it, and a wallet that is restored from its seed
        # finds only so many unused ones in a row.
        order = await orders.with_request(channels, order, with_address=False)
        async with transaction() as tx:
            placed = await orders.add(tx, order, reserve, channels.sources)
            if placed is None:
                raise Conflict("this order exists already")
            return placed, details


def offer_of(channels: ChannelServices, *, zero_conf: bool) -> SaleLimits:
    """Return the offer with these settings."""
    terms, rules = channels.rules.terms, channels.rules
    largest = min(
        terms.largest_capacity,
        terms.seller_largest,
        rules.seller_most_per_peer,
        rules.seller_most_per_hour,
    )
    return SaleLimits(
        smallest=terms.smallest_capacity, largest=Sats(largest), zero_conf=zero_conf
    )


async def find_organization(rows: Stores, word: str) -> str:
    """Return the id of the organization with this id or name; or raise SellerAway."""
    for each in await rows.accounts.list_():
        if word in {each.id, each.name}:
            return each.id
    raise SellerAway(
        why=f"lsps1_organization: no organization {word!r}",
        retry_after_s=_OUT_S,
    )
