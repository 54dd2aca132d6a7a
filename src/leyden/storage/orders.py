"""Orders as they are kept."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from leyden.domain.orders import Order, Status
from leyden.domain.payments import InvoiceState, PaymentRequest
from leyden.domain.times import to_us
from leyden.domain.units import Sats
from leyden.errors import NotFound, Stale
from leyden.storage.order_rows import changes_of, order_of
from leyden.storage.statements import Run
from leyden.storage.words import written_words
from leyden.storage.written import orders as sql

_NEVER = 2**63 - 1


class Orders:
    """The rows of channel_order."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, order: Order) -> bool:
        """Keep a new order; False when there is one of this id already."""
        quote = order.quote
        channel = quote.channel
        return bool(
            await self._run(
                sql.ADD,
                id=order.id,
                organization_id=order.organization_id,
                created=to_us(order.created),
                expires=to_us(order.expires),
                capacity=channel.capacity,
                self_chan_balance=channel.self_chan_balance,
                lease_duration_blocks=channel.lease_duration_blocks,
                node_tier=channel.node_tier,
                bps=channel.bps,
                rate_bps=quote.rate_bps,
                rate_fixed=quote.rate_fixed,
                service_fee=quote.service_fee,
                pool_fee=quote.pool_fee,
                self_chan_balance_fee=quote.self_chan_balance_fee,
                credit_used=order.credit_used,
                charged=order.charged,
                onchain_address=order.onchain_address or None,
                lightning_invoice=order.lightning_invoice or None,
                payment_hash=order.payment_hash or None,
                **changes_of(order),
            )
        )

    async def find(self, order_id: str) -> Order | None:
        """Give the order, if there is one."""
        rows = await self._run(sql.GET, order_id=order_id)
        return order_of(rows[0]) if rows else None

    async def get(self, order_id: str) -> Order:
        """Give the order, or NotFound."""
        if (order := await self.find(order_id)) is None:
            raise NotFound
        return order

    async def get_many(self, order_ids: Iterable[str]) -> list[Order]:
        """Give these orders, those that there are."""
        rows = await self._run(sql.GET_MANY, order_ids=written_words(order_ids))
        return [order_of(row) for row in rows]

    async def lock_many(self, order_ids: Iterable[str]) -> list[Order]:
        """Give these orders, locked until the commit; those that there are."""
        rows = await self._run(sql.LOCK_MANY, order_ids=written_words(order_ids))
        return [order_of(row) for row in rows]

    async def paid_to(self, addresses: Iterable[str]) -> dict[str, Order]:
        """Give the orders that these addresses belong to, by address."""
        rows = await self._run(sql.PAID_TO, addresses=written_words(addresses))
        found = [order_of(row) for row in rows]
        return {order.onchain_address: order for order in found}

    async def invoiced(
        self, hashes: Iterable[str]
    ) -> dict[str, tuple[str, InvoiceState]]:
        """Give the ids of the orders with these payment hashes, and what we know."""
        rows = await self._run(sql.INVOICED, hashes=written_words(hashes))
        return {hash_: (id_, InvoiceState(state)) for hash_, id_, state in rows}

    async def save(self, moved: Sequence[tuple[Order, Order]]) -> None:
        """Write what changed of each; Stale when one has moved since it was read."""
        touched = await self._run.many(
            sql.SAVE,
            [
                changes_of(after) | {"order_id": before.id, "was": str(before.status)}
                for before, after in moved
            ],
        )
        if touched != len(moved):
            raise Stale("an order has moved meanwhile")

    async def page(
        self,
        organization_id: str,
        *,
        before: tuple[datetime, str] | None = None,
        most: int,
    ) -> list[Order]:
        """Give an organization's orders, newest first, from before a place on."""
        created, id_ = (to_us(before[0]), before[1]) if before else (_NEVER, "")
        rows = await self._run(
            sql.PAGE,
            organization_id=organization_id,
            created=created,
            id=id_,
            most=most,
        )
        return [order_of(row) for row in rows]

    async def in_status(
        self, status: Status, *, after: str = "", most: int = 500
    ) -> list[Order]:
        """Give orders that stand there, in the order of their ids."""
        rows = await self._run(sql.IN_STATUS[status], after=after, most=most)
        return [order_of(row) for row in rows]

    async def payable(
        self, status: Status, *, after: str = "", most: int = 500
    ) -> list[PaymentRequest]:
        """Give how those that stand there can be paid, in the order of their ids.

        As `in_status`, without what nobody asks who looks for payments.
        """
        rows = await self._run(sql.PAYABLE[status], after=after, most=most)
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

    async def ticketed_since(self, since: datetime, *, most: int = 500) -> list[Order]:
        """Give orders with a ticket that nobody registered, paid after that."""
        rows = await self._run(sql.TICKETED_SINCE, since=to_us(since), most=most)
        return [order_of(row) for row in rows]

    async def outstanding(self, *, before: Order | None = None) -> Sats:
        """Give what tickets outside the auction may take from our account there.

        These are the tickets that nobody registered and those still to be made; before
        an order, for those that were paid earlier.
        """
        paid_at, id_ = _NEVER, ""
        if before is not None and before.paid_at is not None:
            paid_at, id_ = to_us(before.paid_at), before.id
        created = await self._run(sql.CREATED_TAKE)
        creating = await self._run(sql.CREATING_TAKE, paid_at=paid_at, id=id_)
        return Sats(int(created[0][0]) + int(creating[0][0]))

    async def all_(self, *, after: str = "", most: int = 500) -> list[Order]:
        """Give orders of every kind, in the order of their ids."""
        return [
            order_of(row) for row in await self._run(sql.ALL, after=after, most=most)
        ]
