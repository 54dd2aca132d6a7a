"""Orders on the desk: locked, with all that has to be known to decide about them.

    async with database.transaction() as tx:
        desk = await Desk.laid(tx, [order_id], now=now)
        holding.end(desk, desk.order(order_id), Event.CANCELLED)
        await desk.written(tx)

What lies here is decided about by plain functions, without I/O, one order or a hundred;
each sees what the one before it did. Then it is all written at once.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

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

Part = TypeVar("Part")
Step = Callable[[], Coroutine[Any, Any, None]]

_MANY = 64
# So many are written while the next are decided about: as many as one statement takes.
_AT_ONCE = 512


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
    _moves_taken: int = 0

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
        places = [ledger.held(order.id) for order in orders]
        for whose in {order.organization_id: None for order in orders}:
            places += ledger.credit(whose), ledger.receivable(whose), ledger.owed(whose)
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

    # Writing.

    async def work(
        self,
        tx: Nouns,
        parts: Sequence[Part],
        decide: Callable[[Part], None],
        *also: Step,
    ) -> None:
        """Decide about each of these and write all of it, as `written` does.

        Of many the first are written while the next are decided about.
        """
        if len(parts) < _MANY:
            for part in parts:
                decide(part)
            await self.written(tx, *also)
            return
        writing: list[asyncio.Task[None]] = []
        try:
            for begun in range(0, len(parts), _AT_ONCE):
                for part in parts[begun : begun + _AT_ONCE]:
                    decide(part)
                writing += [asyncio.create_task(step()) for step in self._steps(tx)]
                await asyncio.sleep(0)  # off to the database with them
            writing += [asyncio.create_task(step()) for step in also]
        finally:
            # Whatever happens, none of them may write on when the transaction ends.
            written = await asyncio.gather(*writing, return_exceptions=True)
        for failed in written:
            if failed is not None:
                raise failed
        self._tell()

    async def written(self, tx: Nouns, *also: Step) -> None:
        """Write all that was decided, and do this; Stale when something has moved."""
        for step in (*self._steps(tx), *also):
            await step()
        self._tell()

    def _steps(self, tx: Nouns) -> list[Step]:
        """Give what writes all that was decided since it was last asked for."""
        saved = [(was, self._orders[id_]) for id_, was in self._orders_before.items()]
        outputs = [(was, self._outputs[at]) for at, was in self._outputs_before.items()]
        entries, leases, tasks = self._entries, self._leases, self._tasks
        moves = self._moves[self._moves_taken :]
        self._moves_taken = len(self._moves)
        self._orders_before, self._outputs_before = {}, {}
        self._entries, self._leases, self._tasks = [], [], {}
        return [
            partial(tx.orders.save, saved),
            partial(tx.outputs.add, [new for was, new in outputs if was is None]),
            partial(
                tx.outputs.save, [(was, new) for was, new in outputs if was is not None]
            ),
            partial(tx.moves.add, moves, at=self.now),
            partial(tx.leases.add, leases, at=self.now),
            partial(tx.ledger.post, entries, at=self.now),
            partial(tx.ledger.carry, entries),
            *(
                partial(tx.tasks.put_many, kind, list(keys), due=due)
                for (kind, due), keys in tasks.items()
            ),
        ]

    def _tell(self) -> None:
        for order_id, before, after in self._moves:
            log.info("order moved", order=order_id, before=before, after=after)
