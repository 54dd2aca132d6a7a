"""Select payment updates that are ours and not booked yet."""

from collections.abc import Sequence

from leyden.channels import outputs
from leyden.channels.rules.payments import (
    Invoice,
    KnownOutput,
    Outpoint,
    Output,
    PaymentUpdate,
)
from leyden.channels.shop import Shop


async def select_unbooked(
    shop: Shop, updates: Sequence[PaymentUpdate]
) -> list[tuple[str, PaymentUpdate]]:
    """List updates to book with their order ids; each block repeats old ones."""
    reader = shop.database.reader
    hashes = {each.payment_hash for each in updates if isinstance(each, Invoice)}
    addresses = {each.address for each in updates if isinstance(each, Output)}
    invoiced = await reader.orders.invoiced(hashes) if hashes else {}
    paid_to = await reader.orders.paid_to(addresses) if addresses else {}
    stored: dict[Outpoint, KnownOutput] = {}
    if paid_to:
        ids = [order.id for order in paid_to.values()]
        stored = {each.outpoint: each for each in await reader.outputs.of_orders(ids)}
    selected: list[tuple[str, PaymentUpdate]] = []
    selected_keys: set[str] = (
        set()
    )  # its second update is not compared with what is stored
    for update in updates:
        if isinstance(update, Invoice):
            if found := invoiced.get(update.payment_hash):
                order_id, state = found
                if state is not update.state or update.payment_hash in selected_keys:
                    selected_keys.add(update.payment_hash)
                    selected.append((order_id, update))
        elif order := paid_to.get(update.address):
            before = stored.get(update.outpoint)
            if (
                before is None
                or outputs.next_state(order, before, update, shop.rules)
                is not before.state
                or str(update.outpoint) in selected_keys
            ):
                selected_keys.add(str(update.outpoint))
                selected.append((order.id, update))
    return selected
