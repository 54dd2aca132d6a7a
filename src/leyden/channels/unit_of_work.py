"""A unit of work: load what is needed, decide, write the decisions.

    async with database.transaction() as tx:
        work = await UnitOfWork.load(tx, [order_id], now=now)
        holding.end(work, work.order(order_id), Event.CANCELLED)
        await work.flush(tx)

The decisions between `load` and `flush` are made by plain functions without
I/O, about one order or hundreds; each sees what the one before it decided.
Only `flush` writes the ledger and saves orders.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from datetime import datetime

from leyden.base.database.stores import Stores
from leyden.base.rules.alarms import Finding
from leyden.base.rules.units import Sats
from leyden.channels import order_events
from leyden.channels.rules import ledger
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.ledger import Entry
from leyden.channels.rules.orders import ENDED, Order, OrderStatus
from leyden.channels.rules.payments import KnownOutput, Outpoint
from leyden.channels.rules.pricing import ChannelKind
from leyden.errors import NotFound, Stale
from leyden.events.rules.events import Event
from leyden.values import Struct, field

log = logging.getLogger(__name__)

_TRIES = 8


class UnitOfWork(Struct, kw_only=True):
    """Locked orders with their balances and outputs, and the changes to write."""

    now: datetime
    _orders: dict[str, Order]
    _balances: dict[str, Sats]
    _outputs: dict[Outpoint, KnownOutput] = field(default_factory=dict)
    _orders_before: dict[str, Order] = field(default_factory=dict)
    _outputs_before: dict[Outpoint, KnownOutput | None] = field(default_factory=dict)
    _entries: list[Entry] = field(default_factory=list)
    _moves: list[tuple[str, OrderStatus, OrderStatus]] = field(default_factory=list)
    _leases: list[tuple[str, Lease]] = field(default_factory=list)
    _findings: list[Finding] = field(default_factory=list)
    _tasks: dict[tuple[str, datetime], dict[str, None]] = field(default_factory=dict)

    @classmethod
    async def load(
        cls,
        tx: Stores,
        order_ids: Collection[str] = (),
        *,
        now: datetime,
        organization_ids: Iterable[str] = (),
        with_outputs: bool = False,
        lock_organizations: bool = False,
    ) -> "UnitOfWork":
        """Lock and load these orders, with their money and organizations.

        The caller has locked the organizations in `organization_ids`. Set
        `lock_organizations` if money of an order may become credit: then the orders'
        organizations are locked too, after the orders, so that the debts read here do
        not change before they are repaid.
        """
        orders = await tx.orders.lock_many(order_ids) if order_ids else []
        if lock_organizations:
            for organization_id in sorted({order.organization_id for order in orders}):
                await tx.accounts.lock(organization_id)
        organizations = {
            *organization_ids,
            *(order.organization_id for order in orders),
        }
        accounts = [ledger.held(order.id) for order in orders]
        for organization_id in organizations:
            accounts += (
                ledger.credit(organization_id),
                ledger.receivable(organization_id),
                ledger.owed(organization_id),
            )
        work = cls(
            now=now,
            _orders={order.id: order for order in orders},
            _balances=await tx.ledger.balances(accounts),
        )
        if with_outputs:
            outputs = await tx.outputs.of_orders(work._orders)
            work._outputs = {each.outpoint: each for each in outputs}
        return work

    # Reading.

    def order(self, order_id: str) -> Order:
        """Return an order with its changes so far; raise NotFound if unknown."""
        try:
            return self._orders[order_id]
        except KeyError:
            raise NotFound from None

    def balance(self, account: str) -> Sats:
        """Return the current balance of an account in the ledger."""
        return self._balances.get(account, Sats(0))

    def holds(self, order: Order) -> Sats:
        """Return the money held for an order."""
        return self.balance(ledger.held(order.id))

    def surplus(self, order: Order) -> Sats:
        """Return how much more is held for an order than it costs."""
        return Sats(self.holds(order) - order.total_fee)

    def outstanding(self, organization_id: str) -> Sats:
        """Return an organization's debt for payments that the chain reversed."""
        return Sats(-self.balance(ledger.receivable(organization_id)))

    def owes(self, organization_id: str) -> Sats:
        """Return the debt of an organization's corporate account."""
        return Sats(-self.balance(ledger.owed(organization_id)))

    def output(self, outpoint: Outpoint) -> KnownOutput | None:
        """Return the stored state of an output of these orders, if known."""
        return self._outputs.get(outpoint)

    def outputs_of(self, order: Order) -> list[KnownOutput]:
        """List every output ever seen for an order."""
        return [each for each in self._outputs.values() if each.order_id == order.id]

    # Recording decisions.

    def post(self, entries: Iterable[Entry]) -> None:
        """Post entries to the ledger."""
        for entry in entries:
            self._entries.append(entry)
            for account, sats in (
                (entry.source, -entry.sats),
                (entry.target, entry.sats),
            ):
                self._balances[account] = Sats(self.balance(account) + sats)

    def change(self, order: Order) -> Order:
        """Record a change of an order other than of its status."""
        self._orders_before.setdefault(order.id, self._orders[order.id])
        self._orders[order.id] = order
        return order

    def move(self, order: Order) -> Order:
        """Record a change of an order's status."""
        before = self._orders[order.id].status
        self._moves.append((order.id, before, order.status))
        return self.change(order)

    def keep(self, output: KnownOutput) -> KnownOutput:
        """Record a new or changed output."""
        before = self._outputs.get(output.outpoint)
        self._outputs_before.setdefault(output.outpoint, before)
        self._outputs[output.outpoint] = output
        return output

    def keep_lease(self, order_id: str, lease: Lease) -> None:
        """Record the lease of an order."""
        self._leases.append((order_id, lease))

    def report(self, finding: Finding) -> None:
        """Record something that an operator has to look after."""
        self._findings.append(finding)

    def put(self, kind: str, order_id: str, *, due: datetime | None = None) -> None:
        """Queue a task, due now or at the given time."""
        self._tasks.setdefault((kind, due or self.now), {})[order_id] = None

    # Writing.

    async def flush(self, tx: Stores) -> None:
        """Write all changes; raise Stale if a row changed that was not locked.

        Call this once: a unit of work ends with its transaction.
        """
        outputs = [(was, self._outputs[at]) for at, was in self._outputs_before.items()]
        await tx.orders.save(
            [(was, self._orders[id_]) for id_, was in self._orders_before.items()]
        )
        await tx.outputs.add([new for was, new in outputs if was is None])
        await tx.outputs.save([(was, new) for was, new in outputs if was is not None])
        await tx.moves.add(self._moves, at=self.now)
        if ended := self._ended_direct():
            await tx.reserved_coins.release(ended)
        await tx.leases.add(self._leases, at=self.now)
        await tx.ledger.post(self._entries, at=self.now)
        tx.events.add(*self._new_events(), at=self.now)
        if self._findings:
            await tx.findings.add(self._findings, now=self.now)
        for (kind, due), keys in self._tasks.items():
            await tx.tasks.put_many(kind, list(keys), due=due)
        for order_id, before, after in self._moves:
            log.info(
                "order moved",
                extra={"order": order_id, "before": before, "after": after},
            )

    def _ended_direct(self) -> list[str]:
        return [
            order_id
            for order_id, _, after in self._moves
            if after in ENDED and self._orders[order_id].kind is ChannelKind.DIRECT
        ]

    def _new_events(self) -> Iterator[Event]:
        yield from order_events.of_entries(self._entries)
        for order_id, _, after in self._moves:
            yield from order_events.of_move(self._orders[order_id], after)


async def retry_while_stale(step: Callable[[], Awaitable[None]]) -> None:
    """Run the step again while it raises Stale, at most eight times."""
    for _ in range(_TRIES - 1):
        try:
            return await step()
        except Stale:
            continue
    return await step()
