"""Progress of an order, for the people waiting for it."""

from datetime import datetime

from leyden.base.rules.units import Sats
from leyden.channels import leased_channels, orders
from leyden.channels.direct.rows.fundings import KnownBump
from leyden.channels.leased_channels import LeasedChannel
from leyden.channels.rules.orders import Order, Status
from leyden.channels.rules.payments import OutputState
from leyden.channels.shop import Shop
from leyden.channels.tickets import ticket_source
from leyden.values import Struct, hiding


class Tracked(Struct, frozen=True, kw_only=True):
    """An order with its progress so far."""

    order: Order
    steps: tuple[tuple[Status, datetime], ...]
    seen: Sats  # on-chain, without enough confirmations yet
    arrived: Sats  # on-chain, and counted
    confirmations: int  # that a payment of the whole amount due needs
    ticket: str  # a bearer instrument
    channel: LeasedChannel | None = None  # once the order is filled
    bumps: tuple[KnownBump, ...] = ()  # of its transaction, which stayed unconfirmed
    lost: bool = False  # its channel was published, but can never open

    __repr__ = hiding("ticket")

    @property
    def unused_fee(self) -> Sats:
        """The unused part of the auction's share that the buyer got back."""
        return self.channel.unused_fee if self.channel else Sats(0)

    @property
    def stamp(self) -> tuple[object, ...]:
        """The stamp, which changes whenever anything shown here changes."""
        order = self.order
        payments = self.seen, self.arrived
        return order.status, order.paid, self.steps, *payments, len(self.bumps)


async def track(shop: Shop, organization_id: str, order_id: str) -> Tracked:
    """Return an order with its progress; raise NotFound if not theirs."""
    order = await orders.get(shop, organization_id, order_id)
    reader = shop.database.reader
    outputs = await reader.outputs.of_order(order_id)
    made = (Status.WAITING_PAYMENT, order.created)
    channels = await leased_channels.find(reader, [order])
    steps = await reader.moves.timeline(order_id)
    bumps = []
    if order.channel_point:
        bumps = await reader.fundings.bumps_of(order_id)
    counted = {OutputState.BOOKED, OutputState.BURIED}
    return Tracked(
        order=order,
        steps=(made, *steps),
        seen=Sats(sum(o.sats for o in outputs if o.state is OutputState.SEEN)),
        arrived=Sats(sum(o.sats for o in outputs if o.state in counted)),
        confirmations=shop.rules.confirmations.needed(order.to_be_paid),
        ticket=ticket_source.open_ticket(shop, order),
        channel=channels.get(order_id),
        bumps=tuple(bumps),
        lost=order.status is Status.FAILED and Status.FILLED in dict(steps),
    )
