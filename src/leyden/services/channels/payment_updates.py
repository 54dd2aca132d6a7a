"""Selecting payment updates that are ours and not booked yet."""

from collections.abc import Sequence

from leyden.domain.payments import Invoice, KnownOutput, Outpoint, Output, PaymentUpdate
from leyden.services.channels import outputs
from leyden.services.channels.shop import Shop


async def unbooked(
    shop: Shop, updates: Sequence[PaymentUpdate]
) -> list[tuple[str, PaymentUpdate]]:
    """List updates to book, each with its order: each block repeats all."""
    reader = shop.database.reader
    hashes = {each.payment_hash for each in updates if isinstance(each, Invoice)}
    addresses = {each.address for each in updates if isinstance(each, Output)}
    invoiced = await reader.orders.invoiced(hashes) if hashes else {}
    paid_to = await reader.orders.paid_to(addresses) if addresses else {}
    known: dict[Outpoint, KnownOutput] = {}
    if paid_to:
        ids = [order.id for order in paid_to.values()]
        known = {each.outpoint: each for each in await reader.outputs.of_orders(ids)}
    news: list[tuple[str, PaymentUpdate]] = []
    told: set[str] = set()  # what is told twice here is not compared with the past
    for each in updates:
        if isinstance(each, Invoice):
            if found := invoiced.get(each.payment_hash):
                order_id, state = found
                if state is not each.state or each.payment_hash in told:
                    told.add(each.payment_hash)
                    news.append((order_id, each))
        elif order := paid_to.get(each.address):
            before = known.get(each.outpoint)
            if (
                before is None
                or outputs.next_state(order, before, each, shop.rules)
                is not before.state
                or str(each.outpoint) in told
            ):
                told.add(str(each.outpoint))
                news.append((order.id, each))
    return news
