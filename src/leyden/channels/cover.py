"""How much of an order's price credit and a corporate account cover."""

from leyden.base.database.stores import Stores
from leyden.base.rules.units import Sats
from leyden.channels.holding import entry
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import Quote
from leyden.errors import OverLimit
from leyden.values import Struct


class Cover(Struct, frozen=True):
    """How an order is paid: credit, then corporate account, then the buyer."""

    credit_used: Sats
    charged: Sats


async def cover_of(tx: Stores, organization_id: str, priced: Quote) -> Cover:
    """Return how an order of that price would be paid now; raise OverLimit."""
    credit = await tx.ledger.balance(ledger.credit(organization_id))
    credit_used = min(credit, priced.total_fee)
    rest = Sats(priced.total_fee - credit_used)
    limit = await tx.corporate_accounts.limit(organization_id)
    if limit is None or not rest:
        return Cover(credit_used, Sats(0))
    owed = -await tx.ledger.balance(ledger.owed(organization_id))
    if owed + rest > limit:
        raise OverLimit
    return Cover(credit_used, rest)


def covering_entries(order: Order) -> list[Entry]:
    """Return the entries that hold credit and corporate charge for a new order."""
    return [
        entry(
            order,
            sats,
            source=source,
            target=ledger.held(order.id),
            what=what,
            key=f"order:{order.id}:{what}",
        )
        for what, source, sats in (
            (
                Reason.CREDIT_USED,
                ledger.credit(order.organization_id),
                order.credit_used,
            ),
            (Reason.CHARGED, ledger.owed(order.organization_id), order.charged),
        )
        if sats
    ]
