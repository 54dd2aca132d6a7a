"""How far an order has come, for whoever waits for it."""

from datetime import datetime

from leyden.domain.orders import Order, Status
from leyden.domain.payments import OutputState
from leyden.domain.units import Sats
from leyden.services import checkout, orders
from leyden.services.shop import Shop
from leyden.values import Struct, hiding


class Tracked(Struct, frozen=True, kw_only=True):
    """An order with its way so far."""

    order: Order
    steps: tuple[tuple[Status, datetime], ...]
    seen: Sats  # on the chain, and not deep enough yet
    arrived: Sats  # on the chain, and counted
    confirmations: int  # what a payment of all that is due needs
    ticket: str  # a bearer instrument

    __repr__ = hiding("ticket")

    @property
    def stamp(self) -> tuple[object, ...]:
        """Give what changes whenever anything of this does."""
        return self.order.status, self.order.paid, self.steps, self.seen, self.arrived


async def track(shop: Shop, organization_id: str, order_id: str) -> Tracked:
    """Give the organization's order with its way; NotFound for anybody else's."""
    order = await orders.get(shop, organization_id, order_id)
    reader = shop.database.reader
    outputs = await reader.outputs.of_order(order_id)
    made = (Status.WAITING_PAYMENT, order.created)
    counted = {OutputState.BOOKED, OutputState.BURIED}
    return Tracked(
        order=order,
        steps=(made, *await reader.moves.timeline(order_id)),
        seen=Sats(sum(o.sats for o in outputs if o.state is OutputState.SEEN)),
        arrived=Sats(sum(o.sats for o in outputs if o.state in counted)),
        confirmations=shop.rules.confirmations.needed(order.to_be_paid),
        ticket=checkout.open_ticket(shop, order),
    )
