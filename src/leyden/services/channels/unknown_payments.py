"""Payments in the treasury for orders that are not known here.

They are of orders that were created after the backup from which this installation was
restored: nobody but a person can know what their payers were promised.
"""

from leyden.domain.payments import PaidOrder
from leyden.services.channels.shop import Shop


async def find(shop: Shop) -> list[PaidOrder]:
    """List the payments over Lightning without an order, of the newest invoices."""
    if shop.treasury is None:
        return []
    paid = await shop.treasury.paid_orders()
    known = await shop.database.reader.orders.invoiced(
        each.payment_hash for each in paid
    )
    return [each for each in paid if each.payment_hash not in known]
