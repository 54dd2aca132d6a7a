"""Check purchases from other LSPs against their orders and the ledger."""

from collections.abc import AsyncIterator, Iterator

from leyden.base.database.stores import Stores
from leyden.channels.books.broken_rules import Broken
from leyden.channels.direct.rules.purchases import SPENT, LspPurchase, LspPurchaseStatus
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, OrderStatus

_ORDERS = {
    LspPurchaseStatus.PAYING: {OrderStatus.SUBMITTED},
    LspPurchaseStatus.PAID: {OrderStatus.SUBMITTED},
    LspPurchaseStatus.DELIVERED: {OrderStatus.FILLED},
}
_ENDED = {OrderStatus.SUBMITTED, OrderStatus.FAILED, OrderStatus.CANCELLED}


async def broken_by(books: Stores, orders: list[Order]) -> AsyncIterator[Broken]:
    """Yield what is wrong with the purchases for these orders."""
    bought = [each for each in orders if each.quote.source]
    if not bought:
        return
    purchases = await books.purchases.of_orders([each.id for each in bought])
    for order in bought:
        if (purchase := purchases.get(order.id)) is None:
            yield _broken(order, "it is bought from another LSP, without a purchase")
            continue
        for what in _states(order, purchase):
            yield _broken(order, what)
        found = await books.ledger.find(purchase.key)
        booked = found.entry.sats if found else 0
        due = purchase.cost if purchase.status in SPENT else 0
        if booked != due or (found and found.entry.target != ledger.LSPS):
            yield _broken(order, f"{booked:,} sat are booked as its cost, not {due:,}")


def _states(order: Order, purchase: LspPurchase) -> Iterator[str]:
    status = purchase.status
    if status in {LspPurchaseStatus.WANTED, LspPurchaseStatus.ORDERED}:
        if order.status in {OrderStatus.SUBMITTED, OrderStatus.FILLED}:
            yield f"it is {order.status}, but its purchase is {status}"
    elif order.status not in _ORDERS.get(status, _ENDED):
        yield f"it is {order.status}, but its purchase is {status}"
    if bool(purchase.channel_point) is not (status is LspPurchaseStatus.DELIVERED):
        yield f"its purchase is {status} with channel {purchase.channel_point!r}"
    if status in SPENT and purchase.routing_fee > purchase.routing_limit:
        yield "its routing cost more than its limit"


def _broken(order: Order, what: str) -> Broken:
    return Broken("I17", f"order {order.id}: {what}", order.id)
