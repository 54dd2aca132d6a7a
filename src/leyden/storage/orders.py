"""Orders as they are kept, and each move they made."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from leyden.domain.orders import Order, Status
from leyden.domain.payments import InvoiceState
from leyden.domain.pricing import Channel, NodeTier, Quote
from leyden.domain.times import from_us, to_us
from leyden.domain.units import Sats
from leyden.errors import NotFound, Stale
from leyden.storage.statements import Row, Run, Value
from leyden.storage.words import written_words
from leyden.storage.written import orders as sql

_NEVER = 2**63 - 1


class Orders:
    """The rows of channel_order and order_move."""

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
                **_mutable(order),
            )
        )

    async def find(self, order_id: str) -> Order | None:
        """Give the order, if there is one."""
        rows = await self._run(sql.GET, order_id=order_id)
        return _order(rows[0]) if rows else None

    async def get(self, order_id: str) -> Order:
        """Give the order, or NotFound."""
        if (order := await self.find(order_id)) is None:
            raise NotFound
        return order

    async def lock(self, order_id: str) -> Order:
        """Give the order, and let nobody else decide about it until the commit."""
        if not (rows := await self._run(sql.LOCK, order_id=order_id)):
            raise NotFound
        return _order(rows[0])

    async def get_many(self, order_ids: Iterable[str]) -> list[Order]:
        """Give these orders, those that there are."""
        rows = await self._run(sql.GET_MANY, order_ids=written_words(order_ids))
        return [_order(row) for row in rows]

    async def lock_many(self, order_ids: Iterable[str]) -> list[Order]:
        """Give these orders, locked until the commit; those that there are."""
        rows = await self._run(sql.LOCK_MANY, order_ids=written_words(order_ids))
        return [_order(row) for row in rows]

    async def paid_to(self, addresses: Iterable[str]) -> dict[str, Order]:
        """Give the orders that these addresses belong to, by address."""
        rows = await self._run(sql.PAID_TO, addresses=written_words(addresses))
        found = [_order(row) for row in rows]
        return {order.onchain_address: order for order in found}

    async def invoiced(
        self, hashes: Iterable[str]
    ) -> dict[str, tuple[str, InvoiceState]]:
        """Give the ids of the orders with these payment hashes, and what we know."""
        rows = await self._run(sql.INVOICED, hashes=written_words(hashes))
        return {hash_: (id_, InvoiceState(state)) for hash_, id_, state in rows}

    async def save(self, changed: Sequence[tuple[Order, Order]]) -> None:
        """Write what may change of each; Stale when one has moved since it was read."""
        touched = await self._run.many(
            sql.SAVE,
            [
                {"order_id": before.id, "was": before.status, **_mutable(after)}
                for before, after in changed
            ],
        )
        if touched != len(changed):
            raise Stale("an order has moved meanwhile")

    async def note_moves(
        self, made: Sequence[tuple[str, Status, Status]], *, at: datetime
    ) -> None:
        """Keep the moves that orders made."""
        now = to_us(at)
        await self._run.many(
            sql.MOVED,
            [
                {"order_id": order_id, "at": now, "before": before, "after": after}
                for order_id, before, after in made
            ],
        )

    async def moves(self, order_id: str) -> list[tuple[Status, Status]]:
        """Give each move the order made, the first one first."""
        rows = await self._run(sql.MOVES, order_id=order_id)
        return [(Status(before), Status(after)) for before, after in rows]

    async def timeline(self, order_id: str) -> list[tuple[Status, datetime]]:
        """Give where each move led the order, and when, the first one first."""
        rows = await self._run(sql.TIMELINE, order_id=order_id)
        return [(Status(after), from_us(at)) for after, at in rows]

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
        return [_order(row) for row in rows]

    async def in_status(
        self, status: Status, *, after: str = "", most: int = 500
    ) -> list[Order]:
        """Give orders that stand there, in the order of their ids."""
        rows = await self._run(sql.IN_STATUS[status], after=after, most=most)
        return [_order(row) for row in rows]

    async def ticketed_since(self, since: datetime, *, most: int = 500) -> list[Order]:
        """Give orders with a ticket that nobody registered, paid after that."""
        rows = await self._run(sql.TICKETED_SINCE, since=to_us(since), most=most)
        return [_order(row) for row in rows]

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
        return [_order(row) for row in await self._run(sql.ALL, after=after, most=most)]


def _mutable(order: Order) -> Mapping[str, Value]:
    return {
        "status": order.status,
        "credit_refund": order.credit_refund,
        "paid_at": to_us(order.paid_at) if order.paid_at else None,
        "invoice_state": order.invoice,
        "accepted": order.accepted,
        "offered": int(order.offered),
        "ticket_ref": order.ticket_ref or None,
        "sealed_ticket": order.sealed_ticket,
        "order_nonce": order.order_nonce,
    }


def _order(row: Row) -> Order:
    # In the order of the table's columns.
    (
        id_,
        organization_id,
        status,
        created,
        expires,
        capacity,
        self_chan_balance,
        lease_duration_blocks,
        node_tier,
        bps,
        rate_bps,
        rate_fixed,
        service_fee,
        pool_fee,
        self_chan_balance_fee,
        credit_used,
        charged,
        credit_refund,
        paid_at,
        onchain_address,
        lightning_invoice,
        payment_hash,
        invoice_state,
        accepted,
        offered,
        ticket_ref,
        sealed_ticket,
        order_nonce,
    ) = row
    return Order(
        id=id_,
        organization_id=organization_id,
        status=Status(status),
        created=from_us(created),
        expires=from_us(expires),
        quote=Quote(
            channel=Channel(
                capacity=Sats(capacity),
                self_chan_balance=Sats(self_chan_balance),
                lease_duration_blocks=lease_duration_blocks,
                node_tier=NodeTier(node_tier),
                bps=bps,
            ),
            rate_bps=rate_bps,
            rate_fixed=rate_fixed,
            service_fee=Sats(service_fee),
            pool_fee=Sats(pool_fee),
            self_chan_balance_fee=Sats(self_chan_balance_fee),
        ),
        credit_used=Sats(credit_used),
        charged=Sats(charged),
        credit_refund=Sats(credit_refund),
        paid_at=None if paid_at is None else from_us(paid_at),
        onchain_address=onchain_address or "",
        lightning_invoice=lightning_invoice or "",
        payment_hash=payment_hash or "",
        invoice=None if invoice_state is None else InvoiceState(invoice_state),
        accepted=Sats(accepted),
        offered=bool(offered),
        ticket_ref=ticket_ref or "",
        sealed_ticket=sealed_ticket,
        order_nonce=order_nonce,
    )
