"""Stored orders."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from leyden.base.database.statements import (
    AFTER_ALL,
    BEFORE_ALL,
    Row,
    Run,
    SqlFile,
    Statement,
)
from leyden.base.rules.times import to_us
from leyden.base.rules.units import Sats
from leyden.channels.rows.order_rows import CHANGING, COLUMNS, order_of, row_of
from leyden.channels.rules.orders import ALL_ORDERS, Order, OrderFilter, OrderStatus
from leyden.channels.rules.payments import InvoiceState, PaymentRequest
from leyden.errors import NotFound, Stale

sql = SqlFile(__file__, channel_order=COLUMNS)
_ADD = Statement(
    f"INSERT INTO channel_order ({', '.join(COLUMNS)}) "  # noqa: S608  our own names
    f"VALUES ({', '.join(f':{each}' for each in COLUMNS)}) "
    "ON CONFLICT DO NOTHING RETURNING id",
    name="orders.add",
)
_SAVE = Statement(
    "UPDATE channel_order "  # noqa: S608  our own names
    f"SET {', '.join(f'{each} = :{each}' for each in CHANGING)} "
    "WHERE id = :id AND status = :was",
    name="orders.save",
)
_IN_STATUS = {
    OrderStatus.WAITING_PAYMENT: sql.in_waiting_payment,
    OrderStatus.EXPIRED: sql.in_expired,
    OrderStatus.CREATING: sql.in_creating,
    OrderStatus.CREATED: sql.in_created,
    OrderStatus.SUBMITTED: sql.in_submitted,
    OrderStatus.FILLED: sql.in_filled,
    OrderStatus.FAILED: sql.in_failed,
    OrderStatus.CANCELLED: sql.in_cancelled,
}
_PAYABLE = {
    OrderStatus.WAITING_PAYMENT: sql.payable_waiting_payment,
    OrderStatus.CREATING: sql.payable_creating,
}


class Orders:
    """The rows of channel_order."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, order: Order) -> bool:
        """Store a new order; return False if its id already exists."""
        return bool(await self._run(_ADD, **row_of(order)))

    async def find(self, order_id: str) -> Order | None:
        """Return the order, or None."""
        rows = await self._run(sql.get, id=order_id)
        return order_of(rows[0]) if rows else None

    async def get(self, order_id: str) -> Order:
        """Return the order, or raise NotFound."""
        if (order := await self.find(order_id)) is None:
            raise NotFound
        return order

    async def get_many(self, order_ids: Iterable[str]) -> list[Order]:
        """Return the existing orders among these."""
        rows = await self._run(sql.get_many, ids=tuple(order_ids))
        return [order_of(row) for row in rows]

    async def lock_many(self, order_ids: Iterable[str]) -> list[Order]:
        """Return the existing orders among these, locked until the commit."""
        rows = await self._run(sql.lock_many, ids=tuple(order_ids))
        return [order_of(row) for row in rows]

    async def paid_to(self, addresses: Iterable[str]) -> dict[str, Order]:
        """Return the orders of these addresses, by address."""
        rows = await self._run(sql.paid_to, addresses=tuple(addresses))
        found = [order_of(row) for row in rows]
        return {order.onchain_address: order for order in found}

    async def invoiced(
        self, hashes: Iterable[str]
    ) -> dict[str, tuple[str, InvoiceState]]:
        """Return order id and invoice state by payment hash, where known."""
        rows = await self._run(sql.invoiced, hashes=tuple(hashes))
        return {hash_: (id_, InvoiceState(state)) for hash_, id_, state in rows}

    async def save(self, moved: Sequence[tuple[Order, Order]]) -> None:
        """Write changed orders; raise Stale if one changed since it was read."""
        touched = await self._run.many(
            _SAVE,
            [{**row_of(after), "was": str(before.status)} for before, after in moved],
        )
        if touched != len(moved):
            raise Stale("an order changed in the meantime")

    async def page(
        self,
        organization_id: str,
        wanted: OrderFilter = ALL_ORDERS,
        *,
        before: tuple[datetime, str] | None = None,
        limit: int,
    ) -> list[Order]:
        """Return an organization's orders before a position, newest first."""
        created, id_ = (to_us(before[0]), before[1]) if before else (AFTER_ALL, "")
        rows = await self._run(
            sql.page,
            organization_id=organization_id,
            created=created,
            id=id_,
            statuses=wanted.statuses,
            node_id=wanted.node_id,
            since=to_us(wanted.since) if wanted.since else BEFORE_ALL,
            until=to_us(wanted.until) if wanted.until else AFTER_ALL,
            limit=limit,
        )
        return [order_of(row) for row in rows]

    async def newest(self, *, limit: int) -> list[Order]:
        """Return the newest orders of all organizations."""
        return [order_of(row) for row in await self._run(sql.newest, limit=limit)]

    async def in_status(
        self, status: OrderStatus, *, after: str = "", limit: int = 500
    ) -> list[Order]:
        """Return orders with this status, ordered by id."""
        rows = await self._run(_IN_STATUS[status], after=after, limit=limit)
        return [order_of(row) for row in rows]

    async def overdue(self, before: datetime, *, limit: int) -> list[Order]:
        """Return orders paid before then that wait for a ticket, or for the seller.

        At most so many of each: first those with a ticket to come or a channel that is
        signed, which no stranger can cause, and the longest waiting first.
        """
        found = []
        for waiting in (sql.overdue_tickets, sql.overdue_openings):
            rows = await self._run(waiting, before=to_us(before), limit=limit)
            found += [order_of(row) for row in rows]
        return found

    async def failed(self, *, since: datetime, limit: int) -> list[Order]:
        """Return failed orders: all with a signed channel, then others since then.

        Each newest first.
        """
        rows = await self._run(sql.failed, since=to_us(since), limit=limit)
        return [order_of(row) for row in rows]

    async def payable(
        self, status: OrderStatus, *, after: str = "", limit: int = 500
    ) -> list[PaymentRequest]:
        """Return payment requests of orders with this status, ordered by id.

        As `in_status`, but with only the columns needed to look up payments.
        """
        return _requests(await self._run(_PAYABLE[status], after=after, limit=limit))

    async def payable_direct(
        self, *, after: str = "", limit: int = 500
    ) -> list[PaymentRequest]:
        """Return payment requests of direct orders that wait for their channel."""
        return _requests(await self._run(sql.payable_direct, after=after, limit=limit))

    async def capacity_ordered_since(self, since: datetime, *, but: str = "") -> Sats:
        """Return the capacity of direct channels ordered since then, but for one order.

        An unpaid order counts while it holds coins.
        """
        rows = await self._run(sql.capacity_ordered_since, since=to_us(since), id=but)
        return Sats(int(rows[0][0]))

    async def capacity_held_unpaid(self, organization_id: str) -> Sats:
        """Return the capacity of an organization's unpaid orders that hold coins."""
        rows = await self._run(
            sql.capacity_held_unpaid, organization_id=organization_id
        )
        return Sats(int(rows[0][0]))

    async def capacity_asked_since(self, since: datetime) -> Sats:
        """Return the capacity of openings requested for orders paid since then."""
        rows = await self._run(sql.capacity_asked_since, since=to_us(since))
        return Sats(int(rows[0][0]))

    async def capacity_ordered_to(self, node_key: str, *, but: str = "") -> Sats:
        """Return the capacity that a node has or will get, but for one order."""
        rows = await self._run(sql.capacity_ordered_to, node_key=node_key, id=but)
        return Sats(int(rows[0][0]))

    async def is_open_to(
        self, node_key: str, organization_id: str, *, but: str
    ) -> bool:
        """Return whether an order for a node is open: the organization's, or paid."""
        rows = await self._run(
            sql.open_to, node_key=node_key, organization_id=organization_id, id=but
        )
        return bool(rows)

    async def is_opening_to(self, node_key: str, *, but: str) -> bool:
        """Return whether another order's channel to this node is being opened."""
        return bool(await self._run(sql.is_opening_to, node_key=node_key, id=but))

    async def key_of_node(self, organization_id: str, node_id: str) -> str:
        """Return the public key of a hosted node from a filled order; "" if unknown."""
        rows = await self._run(
            sql.key_of_node, organization_id=organization_id, node_id=node_id
        )
        return str(rows[0][0]) if rows else ""

    async def ticketed_since(self, since: datetime, *, limit: int = 500) -> list[Order]:
        """Return orders paid since then whose ticket is not registered yet."""
        rows = await self._run(sql.ticketed_since, since=to_us(since), limit=limit)
        return [order_of(row) for row in rows]

    async def outstanding(self, *, before: Order | None = None) -> Sats:
        """Return the amount that tickets may still take from our account.

        These are the tickets that are not registered, and those still to be
        created. With `before`, only those of orders paid earlier than that order
        count.
        """
        paid_at, id_ = AFTER_ALL, ""
        if before is not None and before.paid_at is not None:
            paid_at, id_ = to_us(before.paid_at), before.id
        created = await self._run(sql.created_take)
        creating = await self._run(sql.creating_take, paid_at=paid_at, id=id_)
        return Sats(int(created[0][0]) + int(creating[0][0]))

    async def all_(self, *, after: str = "", limit: int = 500) -> list[Order]:
        """Return orders of every status, ordered by id."""
        rows = await self._run(sql.all, after=after, limit=limit)
        return [order_of(row) for row in rows]


def _requests(rows: Sequence[Row]) -> list[PaymentRequest]:
    return [
        PaymentRequest(
            order_id=id_,
            sats=sats,
            onchain_address=address,
            lightning_invoice=invoice,
            payment_hash=hash_,
        )
        for id_, sats, address, invoice, hash_ in rows
    ]
