"""Pages of orders: how to pay, progress, the channel, cancelling."""

import re
import uuid
from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import Final

from starlette.responses import Response

from leyden.base.pages import changes as changing
from leyden.base.pages import private_chain, qr_codes
from leyden.base.pages.visits import Visit, redirect
from leyden.base.rules.times import from_us, to_us
from leyden.base.rules.units import BLOCKS_PER_WEEK, MAX_SATS, Sats
from leyden.channels import leased_channels, orders
from leyden.channels.direct import extensions, reservations
from leyden.channels.direct.rows.fundings import KnownBump
from leyden.channels.direct.rows.lsps1_orders import Lsps1Order
from leyden.channels.direct.rules.extensions import SUFFIX, Extension, ExtensionStatus
from leyden.channels.leased_channels import LeasedChannel
from leyden.channels.rules.orders import Order, OrderEvent, OrderStatus
from leyden.channels.rules.payments import GONE, Output, OutputState
from leyden.channels.rules.pricing import LEASES, ChannelKind, extension_price
from leyden.channels.services import ChannelServices
from leyden.channels.tickets import ticket_source
from leyden.errors import Conflict, Malformed, TreasuryAway
from leyden.nodes.rules.nodes import NodeListing, NodeStatus
from leyden.values import Struct, hiding

_AT_A_TIME: Final = 50
_SATS: Final = 100_000_000
_NUMBER: Final = re.compile(r"[0-9]{1,16}")
_WAY: Final = (
    OrderStatus.WAITING_PAYMENT,
    OrderStatus.CREATING,
    OrderStatus.CREATED,
    OrderStatus.SUBMITTED,
    OrderStatus.FILLED,
)
_NODES: Final = 20  # so many are offered as those that register a ticket


class _Tracked(Struct, frozen=True, kw_only=True):
    """An order with its progress so far."""

    order: Order
    steps: tuple[tuple[OrderStatus, datetime], ...]
    unconfirmed: Sats  # on-chain, without enough confirmations yet
    arrived: Sats  # on-chain, and counted
    confirmations: int  # that a payment of the whole amount due needs
    ticket: str  # a bearer instrument
    channel: LeasedChannel | None = None  # once the order is filled
    bumps: tuple[KnownBump, ...] = ()  # of its transaction, which stayed unconfirmed
    lost: bool = False  # its channel was published, but can never open
    extensions: tuple[Extension, ...] = ()  # of its lease, but for unpaid ones
    unpaid_extension: Extension | None = None  # that its owner ordered

    __repr__ = hiding("ticket")

    @property
    def unused_fee(self) -> Sats:
        """The unused part of the auction's share that the buyer got back."""
        return self.channel.unused_fee if self.channel else Sats(0)

    @property
    def stamp(self) -> tuple[object, ...]:
        """The stamp, which changes whenever anything shown here changes."""
        order = self.order
        payments = self.unconfirmed, self.arrived
        return (
            *(order.status, order.paid, self.steps, *payments, len(self.bumps)),
            order.purchase_unknown,
            len(self.extensions),
            self.unpaid_extension.id if self.unpaid_extension else "",
        )


class _ExtensionPrice(Struct, frozen=True, kw_only=True):
    """More blocks for a lease, and their price."""

    blocks: int
    weeks: int
    fee: Sats


async def list_(visit: Visit) -> Response:
    """List orders, newest first."""
    channels = channels_of(visit)
    found = await orders.list_(
        channels,
        visit.organization_id,
        before=_before(visit),
        limit=_AT_A_TIME + 1,
    )
    shown = found[:_AT_A_TIME]
    more = len(found) > _AT_A_TIME
    leased = await leased_channels.find(visit.rows, shown)
    return visit.render(
        "channels/list.html",
        orders=shown,
        channels=leased,
        nodes=await leased_channels.nodes_of(
            visit.rows, visit.organization_id, shown, leased
        ),
        lsps1=await _lsps1(channels, shown),
        older=f"{to_us(shown[-1].created)}.{shown[-1].id}" if more else "",
    )


async def show(visit: Visit) -> Response:
    """Show the order's progress, how to pay, and how to use its ticket."""
    channels = channels_of(visit)
    tracked = await _track(channels, visit.organization_id, visit.path["order_id"])
    order = tracked.order
    fleet = visit.platform.fleet
    running = []
    has_ticket = order.has_open_ticket and order.status is OrderStatus.CREATED
    if fleet is not None and has_ticket:
        running = await _running(visit)
    leased = {order.id: tracked.channel} if tracked.channel else {}
    own = await leased_channels.nodes_of(
        visit.rows, visit.organization_id, [order], leased
    )
    address_uri = _uri(order.onchain_address, order.to_be_paid)
    return visit.render(
        "channels/show.html",
        tracked=tracked,
        order=order,
        node=own.get(order.id),
        lsps1=(await _lsps1(channels, [order])).get(order.id),
        mark=changing.mark(tracked.stamp),
        left=order.expires - visit.now,
        depth=await _depth(channels, order) if tracked.unconfirmed else None,
        invoice_qr=await qr_codes.qr(
            visit, f"lightning:{order.lightning_invoice}".upper()
        )
        if order.lightning_invoice
        else "",
        address_uri=address_uri,
        address_qr=await qr_codes.qr(visit, address_uri)
        if order.onchain_address
        else "",
        may_cancel=order.may(OrderEvent.CANCELLED) and not order.purchase_unknown,
        prices=_extension_prices(channels, order),
        once=uuid.uuid4(),
        extension_qr=await qr_codes.qr(
            visit, f"lightning:{tracked.unpaid_extension.lightning_invoice}".upper()
        )
        if tracked.unpaid_extension
        else "",
        has_customer=_has_customer(visit),
        ahead=_ahead(order),
        seller_uri=await _seller_uri(channels, order),
        nodes=running,
        testnet=visit.platform.settings.testnet_chain,
        ports=fleet.rules.ports if fleet else None,
        Status=OrderStatus,
        weeks=order.quote.channel.lease_duration_blocks // BLOCKS_PER_WEEK,
    )


def _extension_prices(channels: ChannelServices, order: Order) -> list[_ExtensionPrice]:
    """Return what extending the order's lease costs; nothing if it has none."""
    is_own = order.kind is ChannelKind.DIRECT and not order.quote.source
    if not is_own or order.status is not OrderStatus.FILLED:
        return []
    channel, terms = order.quote.channel, channels.rules.terms
    return [
        _ExtensionPrice(
            blocks=blocks,
            weeks=blocks // BLOCKS_PER_WEEK,
            fee=Sats(sum(extension_price(channel, blocks, terms))),
        )
        for blocks in LEASES
    ]


def _has_customer(visit: Visit) -> bool:
    """Return whether `leyden dev pay` pays here, as the private chain's customer."""
    settings = visit.platform.settings
    return settings.has_private_chain and settings.devnet_market


async def _depth(channels: ChannelServices, order: Order) -> int | None:
    """Return the confirmations of the newest on-chain payment; None: unknown."""
    if (request := order.payment_request) is None:
        return None
    try:
        updates = await channels.payments.lookup([request])
    except TreasuryAway:
        return None
    depths = [each.confirmations for each in updates if isinstance(each, Output)]
    return min((each for each in depths if each != GONE), default=None)


async def _lsps1(
    channels: ChannelServices, shown: Sequence[Order]
) -> dict[str, Lsps1Order]:
    """Return which of these orders came over LSPS1, and how."""
    direct = [each.id for each in shown if each.kind is ChannelKind.DIRECT]
    if not direct:
        return {}
    return await channels.database.reader.lsps1_orders.of_orders(direct)


def _ahead(order: Order) -> tuple[OrderStatus, ...]:
    if order.status not in _WAY:
        return ()
    ahead = _WAY[_WAY.index(order.status) + 1 :]
    if order.kind is ChannelKind.TICKET:
        return ahead
    return tuple(each for each in ahead if each is not OrderStatus.CREATED)


async def _seller_uri(channels: ChannelServices, order: Order) -> str:
    uris = await reservations.uris(channels.database.reader, [order])
    return uris.get(order.id, "")


async def _running(visit: Visit) -> list[NodeListing]:
    """Return the newest nodes that can register a ticket."""
    nodes, of = visit.rows.nodes, visit.organization_id
    count = await nodes.count(of, status=NodeStatus.RUNNING)
    skipped = max(0, count - _NODES)
    return await nodes.page(
        of, status=NodeStatus.RUNNING, skipped=skipped, limit=_NODES
    )


async def changes(visit: Visit) -> Response:
    """Stream an event whenever the order changes or a payment is seen."""
    channels, order_id = channels_of(visit), visit.path["order_id"]

    async def read() -> Hashable:
        return (await _track(channels, visit.organization_id, order_id)).stamp

    await read()
    return changing.stream(visit, read)


async def cancel(visit: Visit) -> Response:
    """Cancel the order; its payment becomes credit."""
    order = await orders.cancel(
        channels_of(visit),
        visit.organization_id,
        visit.path["order_id"],
        actor=visit.user.actor,
        now=visit.now,
    )
    return redirect(f"{visit.root}/channels/{order.id}")


async def extend(visit: Visit) -> Response:
    """Extend the lease by the chosen blocks, for the price that was shown with them."""
    blocks, _, fee = visit.form.text("blocks").partition(" ")
    if not _NUMBER.fullmatch(blocks) or not _NUMBER.fullmatch(fee):
        raise Malformed("blocks: choose by how much to extend the lease")
    await extensions.extend(
        channels_of(visit),
        visit.organization_id,
        visit.path["order_id"],
        f"{visit.form.key('once')}{SUFFIX}",
        int(blocks),
        most=int(fee),
        actor=visit.user.actor,
        now=visit.now,
    )
    return redirect(f"{visit.root}/channels/{visit.path['order_id']}")


async def auto_extend(visit: Visit) -> Response:
    """Choose whether the lease goes on by itself, by how much, up to which price."""
    form = visit.form
    most = 0 if form.text("stop") else form.number("max_fee")
    if not form.text("stop") and not 1 <= most <= MAX_SATS:
        raise Malformed("max_fee: must be at least 1 sat")
    await extensions.set_automatic(
        channels_of(visit),
        visit.organization_id,
        visit.path["order_id"],
        blocks=0 if form.text("stop") else form.number("blocks"),
        most=most,
        actor=visit.user.actor,
        now=visit.now,
    )
    return redirect(f"{visit.root}/channels/{visit.path['order_id']}")


async def simulate_payment(visit: Visit) -> Response:
    """Pay the order's invoice, as the customer of a private chain."""
    chain = private_chain.chain_of(visit)
    tracked = await _track(
        channels_of(visit), visit.organization_id, visit.path["order_id"]
    )
    order, extension = tracked.order, tracked.unpaid_extension
    if extension is not None:
        await chain.pay(extension.lightning_invoice)
    elif order.status is not OrderStatus.WAITING_PAYMENT:
        raise Conflict("This order is not waiting for a payment.")
    else:
        await chain.pay(order.lightning_invoice)
    return redirect(f"{visit.root}/channels/{order.id}")


def channels_of(visit: Visit) -> ChannelServices:
    """Return channel sales; raise TreasuryAway if no channels are sold here."""
    if (channels := visit.platform.channels) is None:
        raise TreasuryAway("This platform sells no channels.")
    return channels


def _before(visit: Visit) -> tuple[datetime, str] | None:
    text = visit.query.text("before")
    if not text:
        return None
    us, _, order_id = text.partition(".")
    try:
        return from_us(int(us)), order_id
    except (ValueError, OverflowError):
        raise Malformed("before: not in this list; open the list again") from None


def _uri(address: str, sats: int) -> str:
    return f"bitcoin:{address}?amount={sats // _SATS}.{sats % _SATS:08d}"


async def _track(
    channels: ChannelServices, organization_id: str, order_id: str
) -> _Tracked:
    """Return an order with its progress; raise NotFound if not theirs."""
    order = await orders.get(channels, organization_id, order_id)
    reader = channels.database.reader
    outputs = await reader.outputs.of_order(order_id)
    made = (OrderStatus.WAITING_PAYMENT, order.created)
    leased = await leased_channels.find(reader, [order])
    steps = await reader.moves.timeline(order_id)
    bumps = []
    if order.channel_point:
        bumps = await reader.fundings.bumps_of(order_id)
    found = []
    if order_id in leased and order.kind is ChannelKind.DIRECT:
        found = await reader.extensions.of_orders([order_id])
    unpaid = [
        each
        for each in found
        if each.status is ExtensionStatus.WAITING_PAYMENT and not each.peer
    ]
    counted = {OutputState.BOOKED, OutputState.BURIED}
    return _Tracked(
        order=order,
        steps=(made, *steps),
        unconfirmed=Sats(sum(o.sats for o in outputs if o.state is OutputState.SEEN)),
        arrived=Sats(sum(o.sats for o in outputs if o.state in counted)),
        confirmations=channels.rules.confirmations.needed(order.to_be_paid),
        ticket=ticket_source.open_ticket(channels, order),
        channel=leased.get(order_id),
        bumps=tuple(bumps),
        lost=order.status is OrderStatus.FAILED and OrderStatus.FILLED in dict(steps),
        extensions=tuple(
            each for each in found if each.status is ExtensionStatus.EXTENDED
        ),
        unpaid_extension=unpaid[-1] if unpaid else None,
    )
