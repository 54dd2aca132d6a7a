"""What orders and money tell their organization: events for its log.

What one unit of work does to one order with one reason is one event: an output of the
chain may be booked in three entries, and is one payment. Nothing here does I/O.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from leyden.domain import ledger
from leyden.domain.customer_ledger import kind_of
from leyden.domain.events import Event
from leyden.domain.ledger import Entry, Reason
from leyden.domain.orders import Order, Status

_MOVES: Final[Mapping[Status, str]] = {
    Status.CREATING: "order.paid",
    Status.CREATED: "order.ticket_ready",
    Status.SUBMITTED: "order.submitted",
    Status.FILLED: "order.filled",
    Status.FAILED: "order.failed",
    Status.EXPIRED: "order.expired",
    Status.CANCELLED: "order.cancelled",
}
_RETURNED: Final = frozenset({Reason.HANDED_BACK, Reason.REVERSED, Reason.REFUND})
_CREDIT: Final = "credit:"
_LIGHTNING: Final = "lightning:"  # how the keys of its entries begin

# Type, organization, order, and the field that tells apart what has the same of these.
_Group = tuple[str, str, str, tuple[str, str]]


def of_new(order: Order) -> Event:
    """Return the event of a new order."""
    return _of_order("order.created", order, Status.WAITING_PAYMENT)


def of_move(order: Order, after: Status) -> Iterator[Event]:
    """Return the event of an order's new status; waiting again is a payment's."""
    if (kind := _MOVES.get(after)) is not None:
        yield _of_order(kind, order, after)


def of_entries(entries: Iterable[Entry]) -> Iterator[Event]:
    """Return the events of what was booked, in order."""
    sums: dict[_Group, int] = {}
    for entry in entries:
        if entry.organization_id is None:
            continue
        for kind, telling, sats in _told(entry):
            group = kind, entry.organization_id, entry.order_id or "", telling
            sums[group] = sums.get(group, 0) + sats
    for (kind, organization_id, order_id, (field, word)), sats in sums.items():
        if sats:
            yield Event(
                organization_id=organization_id,
                type=kind,
                data={"order_id": order_id, field: word, "amount": sats},
            )


def _told(entry: Entry) -> Iterator[tuple[str, tuple[str, str], int]]:
    """Return what an entry tells, and how many satoshis of it."""
    if entry.what is Reason.HTLC_HELD or (
        # What is settled was held before, and told of then.
        entry.source == ledger.RECEIVED and entry.target != ledger.HELD_HTLCS
    ):
        rail = "lightning" if entry.key.startswith(_LIGHTNING) else "onchain"
        yield "payment.received", ("rail", rail), entry.sats
    if entry.what in _RETURNED:
        yield "payment.returned", ("reason", entry.what), entry.sats
    for place, sats in ((entry.source, -entry.sats), (entry.target, entry.sats)):
        if place.startswith(_CREDIT):
            yield "credit.changed", ("reason", kind_of(entry)), sats


def _of_order(kind: str, order: Order, status: Status) -> Event:
    return Event(
        organization_id=order.organization_id,
        type=kind,
        data={
            "order_id": order.id,
            "capacity": order.quote.channel.capacity,
            "status": status,
        },
    )
