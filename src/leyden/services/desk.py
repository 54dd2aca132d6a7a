"""Orders on the desk: locked, with all that has to be known to decide about them.

    async with database.transaction() as tx:
        desk = await Desk.laid(tx, [order_id], now=now)
        holding.end(desk, desk.order(order_id), Event.CANCELLED)
        await desk.written(tx)

What lies here is decided about by plain functions, without I/O, one order or a hundred;
each sees what the one before it did. Then it is all written at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import partial

from leyden import logs
from leyden.domain import ledger
from leyden.domain.ledger import Entry
from leyden.domain.orders import Order, Status
from leyden.domain.payments import KnownOutput, Outpoint
from leyden.domain.tickets import Lease
from leyden.domain.units import Sats
from leyden.errors import NotFound
from leyden.storage.nouns import Nouns
from leyden.values import Struct, field

log = logs.get()

_MANY = 64


class Desk(Struct, kw_only=True):
    """Some orders, what they hold, and what is to be written."""

    now: datetime
    _orders: dict[str, Order]
    _balances: dict[str, Sats]
    _outputs: dict[Outpoint, KnownOutput] = field(default_factory=dict)
    _orders_before: dict[str, Order] = field(default_factory=dict)
    _outputs_before: dict[Outpoint, KnownOutput | None] = field(default_factory=dict)
    _entries: list[Entry] = field(default_factory=list)
    _moves: list[tuple[str, Status, Status]] = field(default_factory=list)
    _leases: list[tuple[str, Lease]] = field(default_factory=list)
    _tasks: dict[tuple[str, datetime], dict[str, None]] = field(default_factory=dict)

    @classmethod
    async def laid(
        cls,
        tx: Nouns,
        order_ids: Iterable[str],
        *,
        now: datetime,
        with_outputs: bool = False,
        known: Mapping[str, Order] | None = None,
    ) -> "Desk":
        """Lock these orders and read what is to be known of them.

        Of orders that are known already only what may have changed is read.
        """
        known = known or {}
        new = [id_ for id_ in order_ids if id_ not in known]
        orders = await tx.orders.lock_many(new) if new else []
        if known:
            orders += await tx.orders.lock_again(known)
        places = {ledger.held(order.id): None for order in orders}
        for order in orders:
            places[ledger.credit(order.organization_id)] = None
            places[ledger.receivable(order.organization_id)] = None
            places[ledger.owed(order.organization_id)] = None
        desk = cls(
            now=now,
            _orders={order.id: order for order in orders},
            _balances=await tx.ledger.balances(places),
        )
        if with_outputs:
            outputs = await tx.outputs.of_orders(desk._orders)
            desk._outputs = {each.outpoint: each for each in outputs}
        return desk

    # Reading.

    def order(self, order_id: str) -> Order:
        """Give an order as it stands now, or NotFound."""
        try:
            return self._orders[order_id]
        except KeyError:
            raise NotFound from None

    def balance(self, place: str) -> Sats:
        """Give what is in a place now."""
        return self._balances.get(place, Sats(0))

    def holds(self, order: Order) -> Sats:
        """Give what is there for an order."""
        return self.balance(ledger.held(order.id))

    def outstanding(self, order: Order) -> Sats:
        """Give what its organization owes us for money that the chain took back."""
        return Sats(-self.balance(ledger.receivable(order.organization_id)))

    def owes(self, order: Order) -> Sats:
        """Give what its organization's corporate account owes now."""
        return Sats(-self.balance(ledger.owed(order.organization_id)))

    def output(self, outpoint: Outpoint) -> KnownOutput | None:
        """Give what is known of an output of these orders."""
        return self._outputs.get(outpoint)

    def outputs_of(self, order: Order) -> list[KnownOutput]:
        """Give every output that was ever seen for an order."""
        return [each for each in self._outputs.values() if each.order_id == order.id]

    # Deciding.

    def post(self, entries: Iterable[Entry]) -> None:
        """Let money move."""
        for entry in entries:
            self._entries.append(entry)
            for place, sats in (
                (entry.source, -entry.sats),
                (entry.target, entry.sats),
            ):
                self._balances[place] = Sats(self.balance(place) + sats)

    def change(self, order: Order) -> Order:
        """Keep an order that changed in something else than its status."""
        self._orders_before.setdefault(order.id, self._orders[order.id])
        self._orders[order.id] = order
        return order

    def move(self, order: Order) -> Order:
        """Keep an order that made a move."""
        before = self._orders[order.id].status
        self._moves.append((order.id, before, order.status))
        return self.change(order)

    def keep(self, output: KnownOutput) -> KnownOutput:
        """Keep an output that changed, or is new."""
        before = self._outputs.get(output.outpoint)
        self._outputs_before.setdefault(output.outpoint, before)
        self._outputs[output.outpoint] = output
        return output

    def keep_lease(self, order_id: str, lease: Lease) -> None:
        """Keep what an order's ticket became."""
        self._leases.append((order_id, lease))

    def put(self, kind: str, order_id: str, *, due: datetime | None = None) -> None:
        """Make a task due, now or then."""
        self._tasks.setdefault((kind, due or self.now), {})[order_id] = None

    def paid(self) -> list[Order]:
        """Give the orders that are paid for now, and were not before."""
        return [
            self._orders[order_id]
            for order_id, _, after in self._moves
            if after is Status.CREATING
        ]

    # Writing.

    async def written(self, tx: Nouns, *also: Callable[[], Awaitable[None]]) -> None:
        """Write all that was decided, and do this; Stale when something has moved."""
        changed = self._orders_before.items()
        new = [each for each, before in self._outputs_before.items() if before is None]
        known = [
            (before, self._outputs[each])
            for each, before in self._outputs_before.items()
            if before is not None
        ]
        steps: list[Callable[[], Awaitable[None]]] = [
            lambda: tx.orders.save(
                [(before, self._orders[id_]) for id_, before in changed]
            ),
            lambda: tx.outputs.add([self._outputs[each] for each in new]),
            lambda: tx.outputs.save(known),
            lambda: tx.moves.add(self._moves, at=self.now),
            lambda: tx.leases.add(self._leases, at=self.now),
            lambda: tx.ledger.post(self._entries, at=self.now),
            *(
                partial(tx.tasks.put_many, kind, list(keys), due=due)
                for (kind, due), keys in self._tasks.items()
            ),
            *also,
        ]
        if len(self._moves) < _MANY:
            for step in steps:
                await step()
        else:
            # While the database writes one, the next is made ready for it.
            written = (step() for step in steps)
            for failed in await asyncio.gather(*written, return_exceptions=True):
                if failed is not None:
                    raise failed
        for order_id, before_status, after in self._moves:
            log.info("order moved", order=order_id, before=before_status, after=after)
