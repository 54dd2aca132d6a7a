"""Payments in the treasury for orders that this database does not have.

These orders were created after the backup from which this installation was restored.
Only a person can decide what to do about them.
"""

from leyden.channels.rules.payments import PaidOrder
from leyden.channels.shop import Shop


async def find(shop: Shop) -> list[PaidOrder]:
    """List Lightning payments without an order, among the newest invoices."""
    if shop.treasury is None:
        return []
    paid = await shop.treasury.paid_orders()
    known = await shop.database.reader.orders.invoiced(
        each.payment_hash for each in paid
    )
    return [each for each in paid if each.payment_hash not in known]
