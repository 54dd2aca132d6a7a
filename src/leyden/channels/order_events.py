"""Events of orders and money, for the event log of their organization.

The changes that one unit of work makes to one order for one reason are one event: an
on-chain output may be booked in three entries, but is one payment. Nothing here does
I/O.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from leyden.channels.rules import ledger
from leyden.channels.rules.customer_ledger import kind_of
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.events.rules.events import Event

_MOVES: Final[Mapping[OrderStatus, str]] = {
    OrderStatus.CREATING: "order.paid",
    OrderStatus.CREATED: "order.ticket_ready",
    OrderStatus.SUBMITTED: "order.submitted",
    OrderStatus.FILLED: "order.filled",
    OrderStatus.FAILED: "order.failed",
    OrderStatus.EXPIRED: "order.expired",
    OrderStatus.CANCELLED: "order.cancelled",
}
_RETURNED: Final = frozenset({Reason.HANDED_BACK, Reason.REVERSED, Reason.REFUND})
_CREDIT: Final = "credit:"
_LIGHTNING: Final = "lightning:"  # the prefix of its entries' keys

# Event type, organization, order, and the data field that distinguishes events.
_Group = tuple[str, str, str, tuple[str, str]]


def of_new(order: Order) -> Event:
    """Return the event of a new order."""
    return _of_order("order.created", order, OrderStatus.WAITING_PAYMENT)


def of_move(order: Order, after: OrderStatus) -> Iterator[Event]:
    """Yield the event of an order's new status, if there is one for that status."""
    if (kind := _MOVES.get(after)) is not None:
        yield _of_order(kind, order, after)


def of_entries(entries: Iterable[Entry]) -> Iterator[Event]:
    """Yield the events of ledger entries, in order."""
    sums: dict[_Group, int] = {}
    for entry in entries:
        if entry.organization_id is None:
            continue
        for kind, fact, sats in _facts(entry):
            group = kind, entry.organization_id, entry.order_id or "", fact
            sums[group] = sums.get(group, 0) + sats
    for (kind, organization_id, order_id, (field, word)), sats in sums.items():
        if sats:
            yield Event(
                organization_id=organization_id,
                type=kind,
                data={"order_id": order_id, field: word, "amount": sats},
            )


def _facts(entry: Entry) -> Iterator[tuple[str, tuple[str, str], int]]:
    """Yield event type, data field and amount of each event for an entry."""
    if entry.what is Reason.HTLC_HELD or (
        # A settled payment was announced when it was held.
        entry.source == ledger.RECEIVED and entry.target != ledger.HELD_HTLCS
    ):
        rail = "lightning" if entry.key.startswith(_LIGHTNING) else "onchain"
        yield "payment.received", ("rail", rail), entry.sats
    if entry.what in _RETURNED:
        yield "payment.returned", ("reason", entry.what), entry.sats
    for account, sats in ((entry.source, -entry.sats), (entry.target, entry.sats)):
        if account.startswith(_CREDIT):
            yield "credit.changed", ("reason", kind_of(entry)), sats


def _of_order(kind: str, order: Order, status: OrderStatus) -> Event:
    return Event(
        organization_id=order.organization_id,
        type=kind,
        data={
            "order_id": order.id,
            "capacity": order.quote.channel.capacity,
            "status": status,
        },
    )
