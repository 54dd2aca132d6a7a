"""Just-in-time orders, and the parts of payments that may have been forwarded."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile, Value
from leyden.base.rules.times import from_us, to_us
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.jit import (
    CircuitKey,
    JitOrder,
    JitPart,
    JitStatus,
)
from leyden.channels.direct.rules.openings import Coin
from leyden.channels.rules.payments import Outpoint
from leyden.errors import Stale
from leyden.values import Struct

sql = SqlFile(__file__)


class JitSum(Struct, frozen=True, kw_only=True):
    """All orders with one status."""

    orders: int
    capacity: Sats
    earned_msat: int
    funding_fees: Sats


class JitOrders:
    """The rows of jit_order and jit_part."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, order: JitOrder) -> bool:
        """Store a new order; return False if its channel id is taken."""
        return bool(await self._run(sql.add, **_row(order)))

    async def find(self, order_id: str) -> JitOrder | None:
        """Return the order with this channel id; None if it was never sold."""
        rows = await self._run(sql.get, id=order_id)
        return _order(rows[0]) if rows else None

    async def save(self, before: JitOrder, after: JitOrder) -> None:
        """Store a changed order; raise Stale if its status is not as before."""
        row = _row(after)
        changing = {name: row[name] for name in sql.save.parameters - {"was"}}
        if not await self._run(sql.save, **changing, was=str(before.status)):
            raise Stale(f"the just-in-time order {before.id} moved meanwhile")

    async def in_states(
        self, statuses: Collection[JitStatus], *, after: str = "", limit: int = 500
    ) -> list[JitOrder]:
        """Return a page of the orders with these statuses, ordered by id."""
        rows = await self._run(
            sql.in_states, statuses=tuple(statuses), after=after, limit=limit
        )
        return [_order(row) for row in rows]

    async def unresolved(self, *, since: datetime) -> list[JitOrder]:
        """Return orders that are under way, or whose cost or end is not known.

        An unpaid one's payment may still be claimed: those forwarded `since` count.
        """
        rows = await self._run(sql.unresolved, since=to_us(since))
        return [_order(row) for row in rows]

    async def lapsed(self, *, now: datetime, limit: int) -> list[JitOrder]:
        """Return sold orders that were not paid in time."""
        return [
            _order(row)
            for row in await self._run(sql.lapsed, now=to_us(now), limit=limit)
        ]

    async def prune(self, *, before: datetime, limit: int) -> int:
        """Delete orders that expired before then; return how many."""
        return len(await self._run(sql.prune, before=to_us(before), limit=limit))

    async def sold(self, purse: str) -> int:
        """Count the orders of this purse that nobody has paid yet."""
        return int((await self._run(sql.sold, purse=purse))[0][0])

    async def sold_to(self, peer: str, *, purse: str) -> int:
        """Count a peer's orders of this purse that nobody has paid yet."""
        return int((await self._run(sql.sold_to, peer=peer, purse=purse))[0][0])

    async def unpaid(self) -> list[JitOrder]:
        """Return orders whose channel was not paid in full, the oldest first."""
        return [_order(row) for row in await self._run(sql.unpaid)]

    async def unpaid_by(self, peer: str, *, since: datetime) -> int:
        """Count the channels to a peer since then that were not paid in full."""
        return int(
            (await self._run(sql.unpaid_by, peer=peer, since=to_us(since)))[0][0]
        )

    async def earned_from(self, peer: str) -> int:
        """Count the orders for which a peer paid the whole fee."""
        return int((await self._run(sql.earned_from, peer=peer))[0][0])

    async def under_way_to(self, peer: str, *, purse: str) -> int:
        """Count the channels of this purse to a peer whose payment is under way."""
        return int((await self._run(sql.under_way_to, peer=peer, purse=purse))[0][0])

    async def nobody_took(self, *, since: datetime, before: datetime) -> Sats:
        """Return the capacity of channels for payments that nobody took, or not all of.

        Those held `since` then, and those that a node has since `before`.
        """
        rows = await self._run(
            sql.nobody_took, since=to_us(since), before=to_us(before)
        )
        return Sats(int(rows[0][0]))

    async def sums(self) -> Mapping[JitStatus, JitSum]:
        """Add up all orders by status."""
        return {
            JitStatus(status): JitSum(
                orders=int(orders),
                capacity=Sats(int(capacity)),
                earned_msat=int(earned),
                funding_fees=Sats(int(fees)),
            )
            for status, orders, capacity, earned, fees in await self._run(sql.sums)
        }

    async def opened_since(self, since: datetime) -> Sats:
        """Return the capacity of all channels for payments held since then."""
        return Sats(int((await self._run(sql.opened_since, since=to_us(since)))[0][0]))

    async def reserved(self) -> set[Outpoint]:
        """Return the coins that channels are opened with, or were."""
        return {
            coin.outpoint
            for (coins,) in await self._run(sql.reserved)
            for coin in _coins(coins)
        }

    async def add_parts(self, order_id: str, parts: Iterable[JitPart]) -> None:
        """Store parts, before lnd is told to forward them."""
        for part in parts:
            await self._run(
                sql.add_part,
                order_id=order_id,
                chan_id=part.circuit.chan_id,
                htlc_id=part.circuit.htlc_id,
                payment_hash=part.payment_hash,
                amount_msat=part.amount_msat,
                take_msat=part.take_msat,
                earned_msat=part.earned_msat,
            )

    async def drop_parts(self, order_id: str) -> None:
        """Delete an order's parts: lnd has none of them any more."""
        await self._run(sql.drop_parts, order_id=order_id)

    async def earn(self, order_id: str, fees_msat: Mapping[CircuitKey, int]) -> None:
        """Store what parts earned."""
        for circuit, msat in fees_msat.items():
            await self._run(
                sql.earn_part,
                order_id=order_id,
                chan_id=circuit.chan_id,
                htlc_id=circuit.htlc_id,
                earned_msat=msat,
            )

    async def parts(self, order_id: str) -> list[JitPart]:
        """Return the parts that may have been forwarded for an order."""
        return [
            JitPart(
                circuit=CircuitKey(chan_id, htlc_id),
                payment_hash=payment_hash,
                amount_msat=amount,
                take_msat=take,
                earned_msat=earned,
            )
            for (
                _,
                chan_id,
                htlc_id,
                payment_hash,
                amount,
                take,
                earned,
            ) in await self._run(sql.parts_of, order_id=order_id)
        ]


def _row(order: JitOrder) -> dict[str, Value]:
    return {
        "id": order.id,
        "purse": order.purse,
        "peer": order.peer,
        "status": str(order.status),
        "created": to_us(order.created),
        "valid_until": to_us(order.valid_until),
        "size_msat": order.size_msat,
        "fee_msat": order.fee_msat,
        "capacity": order.capacity,
        "payment_hash": order.payment_hash,
        "held_at": to_us(order.held_at),
        "held_height": order.held_height,
        "coins": " ".join(f"{each.outpoint}={each.sats}" for each in order.coins),
        "channel_point": order.channel_point,
        "resumed_at": to_us(order.resumed_at),
        "funding_fee": order.funding_fee,
        "earned_msat": order.earned_msat,
        "trusts": int(order.trusts),
        "funding_transaction": order.transaction,
    }


def _order(row: Row) -> JitOrder:
    (
        id_,
        purse,
        peer,
        status,
        created,
        valid_until,
        size,
        fee,
        capacity,
        payment_hash,
        held_at,
        held_height,
        coins,
        channel_point,
        resumed_at,
        funding_fee,
        earned,
        trusts,
        transaction,
    ) = row
    return JitOrder(
        id=id_,
        purse=purse,
        peer=peer,
        status=JitStatus(status),
        created=from_us(created),
        valid_until=from_us(valid_until),
        size_msat=size,
        fee_msat=fee,
        capacity=Sats(capacity),
        payment_hash=payment_hash,
        held_at=from_us(held_at),
        held_height=held_height,
        coins=_coins(coins),
        channel_point=channel_point,
        resumed_at=from_us(resumed_at),
        funding_fee=None if funding_fee is None else Sats(funding_fee),
        earned_msat=earned,
        trusts=bool(trusts),
        transaction=transaction,
    )


def _coins(text: str) -> tuple[Coin, ...]:
    found = (each.rpartition("=") for each in text.split())
    return tuple(
        Coin(sats=Sats(int(sats)), outpoint=Outpoint.parse(outpoint))
        for outpoint, _, sats in found
    )
