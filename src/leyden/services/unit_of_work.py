"""A unit of work: load what has to be known, decide about it, write what was decided.

    async with database.transaction() as tx:
        work = await UnitOfWork.load(tx, [order_id], now=now)
        holding.end(work, work.order(order_id), Event.CANCELLED)
        await work.flush(tx)

What is decided between the two is decided in plain functions without I/O, about one
order or hundreds; each sees what the one before it did. `flush` is the one place that
writes the ledger and saves orders.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable
from datetime import datetime

from leyden import logs
from leyden.domain import ledger
from leyden.domain.ledger import Entry
from leyden.domain.orders import Order, Status
from leyden.domain.payments import KnownOutput, Outpoint
from leyden.domain.tickets import Lease
from leyden.domain.units import Sats
from leyden.errors import NotFound, Stale
from leyden.storage.nouns import Nouns
from leyden.values import Struct, field

log = logs.get()

_TRIES = 8


class UnitOfWork(Struct, kw_only=True):
    """Orders that nobody else decides about meanwhile, and the money around them."""

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
    async def load(
        cls,
        tx: Nouns,
        order_ids: Collection[str] = (),
        *,
        now: datetime,
        organization_ids: Iterable[str] = (),
        with_outputs: bool = False,
    ) -> "UnitOfWork":
        """Lock these orders, and read them, what they hold and what their teams have.

        Of organizations that are named, whoever names them has locked the account.
        """
        orders = await tx.orders.lock_many(order_ids) if order_ids else []
        teams = {*organization_ids, *(order.organization_id for order in orders)}
        places = [ledger.held(order.id) for order in orders]
        for team in teams:
            places += ledger.credit(team), ledger.receivable(team), ledger.owed(team)
        work = cls(
            now=now,
            _orders={order.id: order for order in orders},
            _balances=await tx.ledger.balances(places),
        )
        if with_outputs:
            outputs = await tx.outputs.of_orders(work._orders)
            work._outputs = {each.outpoint: each for each in outputs}
        return work

    # What is known.

    def order(self, order_id: str) -> Order:
        """Return an order as it stands now, or raise NotFound."""
        try:
            return self._orders[order_id]
        except KeyError:
            raise NotFound from None

    def balance(self, place: str) -> Sats:
        """Return what is in a place now."""
        return self._balances.get(place, Sats(0))

    def holds(self, order: Order) -> Sats:
        """Return what is there for an order."""
        return self.balance(ledger.held(order.id))

    def outstanding(self, organization_id: str) -> Sats:
        """Return what an organization owes us for money that the chain took back."""
        return Sats(-self.balance(ledger.receivable(organization_id)))

    def owes(self, organization_id: str) -> Sats:
        """Return what an organization's corporate account owes."""
        return Sats(-self.balance(ledger.owed(organization_id)))

    def output(self, outpoint: Outpoint) -> KnownOutput | None:
        """Return what is known of an output of these orders."""
        return self._outputs.get(outpoint)

    def outputs_of(self, order: Order) -> list[KnownOutput]:
        """List every output that was ever seen for an order."""
        return [each for each in self._outputs.values() if each.order_id == order.id]

    # What is decided.

    def post(self, entries: Iterable[Entry]) -> None:
        """Move money."""
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

    # What is written.

    async def flush(self, tx: Nouns) -> None:
        """Write all that was decided; Stale when something moved that was not locked.

        Once: a unit of work ends with the transaction it was loaded in.
        """
        outputs = [(was, self._outputs[at]) for at, was in self._outputs_before.items()]
        await tx.orders.save(
            [(was, self._orders[id_]) for id_, was in self._orders_before.items()]
        )
        await tx.outputs.add([new for was, new in outputs if was is None])
        await tx.outputs.save([(was, new) for was, new in outputs if was is not None])
        await tx.moves.add(self._moves, at=self.now)
        await tx.leases.add(self._leases, at=self.now)
        await tx.ledger.post(self._entries, at=self.now)
        for (kind, due), keys in self._tasks.items():
            await tx.tasks.put_many(kind, list(keys), due=due)
        for order_id, before, after in self._moves:
            log.info("order moved", order=order_id, before=before, after=after)


async def until_not_stale(step: Callable[[], Awaitable[None]]) -> None:
    """Try again when somebody else was faster; it settles within a few rounds."""
    for _ in range(_TRIES - 1):
        try:
            return await step()
        except Stale:
            continue
    return await step()
