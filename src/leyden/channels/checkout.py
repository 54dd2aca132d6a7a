"""The path from a payment to the ticket that its buyer is shown.

1. `record_payments`: the treasury holds an HTLC for us. It is booked as
   held for its order. Once the whole price is held, the order is `creating`,
   and its ticket is due. Coins (outputs.py) and credit (orders.py) lead to
   the same state.
2. `TicketMaker.make`: the market creates the ticket, or returns the one it
   created before.
3. The held HTLC is settled, which transfers the money to us.
4. In one transaction it is booked as received, the ticket is stored, the
   order is `created`.
5. `open_ticket`: the ticket is shown. tickets.py follows it from here.

Each step may be repeated, and after a crash the next run of the same step
completes it. If step 2 or 3 is refused, all money is returned and the order
is `failed` (refunds.py). Two transactions write; between them only the task
is stored.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final

from prometheus_client import Histogram

from leyden.base.rules.alarms import Finding, Kind
from leyden.base.tasks.steps import ClaimedTask, complete_all
from leyden.channels import invoices, outputs
from leyden.channels.batcher import Batcher
from leyden.channels.holding import credit, hold, settle
from leyden.channels.payment_updates import select_unbooked
from leyden.channels.refunds import finish_without_ticket, refund
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Reason
from leyden.channels.rules.orders import ENDED, Event, Order, Status, advance
from leyden.channels.rules.payments import Invoice, InvoiceState, Output, PaymentUpdate
from leyden.channels.shop import (
    CLOSING,
    TICKET,
    WITHDRAWAL,
    Shop,
    ShopSettings,
    ticket_purpose,
)
from leyden.channels.sources import SOURCES
from leyden.channels.tickets.rules.tickets import NoTicket, Ticket
from leyden.channels.unit_of_work import UnitOfWork, retry_while_stale
from leyden.errors import Away, MarketAway, NotFound, Stale
from leyden.values import Struct

log = logging.getLogger(__name__)

_TICKET: Final = Histogram(
    "leyden_payment_to_ticket_seconds",
    "From the commit that found an order paid until the one that kept its ticket.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600),
)
# Each sweep tries again, and the treasury is compared with the ledger once a day.
_FOUND_AGAIN_WITHIN: Final = timedelta(hours=26)
_FIRST_POLL_S = 0.002
_SLOWEST_POLL_S = 0.05


# 1. A payment is held, and its ticket is due.


async def record_payments(
    shop: Shop, updates: Sequence[PaymentUpdate], *, now: datetime
) -> None:
    """Book many payments at once, in order of arrival; each only once.

    A payment that cannot be booked does not delay the others: if the batch
    fails, each payment is booked by itself, and failures are logged. The next
    sweep retries them.
    """
    unbooked = await select_unbooked(shop, updates)
    try:
        await _record(shop, unbooked, now)
    except Away:
        raise
    except Exception as error:  # noqa: BLE001  probably caused by a single payment
        log.warning(
            "could not book payments together; booking them one by one",
            extra={"payments": len(unbooked), "why": str(error)},
        )
        for order_id, update in unbooked:
            await _record_alone(shop, order_id, update, now)


async def record_payment(shop: Shop, update: PaymentUpdate, *, now: datetime) -> None:
    """Book one payment, or raise; ignore payments that are not ours."""
    await _record(shop, await select_unbooked(shop, [update]), now)


async def _record_alone(
    shop: Shop, order_id: str, update: PaymentUpdate, now: datetime
) -> None:
    try:
        await _record(shop, [(order_id, update)], now)
    except Away:
        raise
    except Stale:
        log.warning("a payment is booked by the next sweep", extra={"order": order_id})
    except Exception as error:
        log.exception(
            "can't book a payment", extra={"order": order_id, "told": str(update)}
        )
        found = Finding(
            kind=Kind.PAYMENT_UNBOOKED,
            subject=order_id,
            what=f"order {order_id}: a payment can't be booked "
            f"({type(error).__name__}): the log has the error",
            kept=_FOUND_AGAIN_WITHIN,
        )
        async with shop.database.transaction() as tx:
            await tx.findings.add([found], now=now)


async def _record(
    shop: Shop, unbooked: Sequence[tuple[str, PaymentUpdate]], now: datetime
) -> None:
    if not unbooked:
        return

    async def step() -> None:
        async with shop.database.transaction() as tx:
            ids = {order_id for order_id, _ in unbooked}
            lock_organizations = any(_may_credit(each) for _, each in unbooked)
            work = await UnitOfWork.load(
                tx,
                ids,
                now=now,
                with_outputs=any(isinstance(each, Output) for _, each in unbooked),
                lock_organizations=lock_organizations,
            )
            # A payment that is settled too late becomes credit too, as in `_store_all`.
            if not lock_organizations and any(
                invoices.is_late(work.order(order_id), update)
                for order_id, update in unbooked
            ):
                work = await UnitOfWork.load(tx, ids, now=now, lock_organizations=True)
            # Sorted by order id, so that rows written together share few pages of the
            # database. The sort is stable: updates of one order keep their order.
            for order_id, update in sorted(unbooked, key=itemgetter(0)):
                decide(work, order_id, update, shop.rules)
            await work.flush(tx)

    await retry_while_stale(step)


def _may_credit(update: PaymentUpdate) -> bool:
    """Return whether money may become credit, judging by the update alone."""
    return isinstance(update, Output) or update.state is InvoiceState.CANCELLED


def decide(
    work: UnitOfWork, order_id: str, update: PaymentUpdate, rules: ShopSettings
) -> None:
    """Book a payment update, unless already booked, and advance its order."""
    order = work.order(order_id)
    if isinstance(update, Output):
        outputs.record(work, order, update, rules)
    elif update.state is InvoiceState.ACCEPTED:
        _hold_htlc(work, order, update)
    else:
        invoices.record(work, order, update)
    start_ticket(work, work.order(order_id))


def _hold_htlc(work: UnitOfWork, order: Order, invoice: Invoice) -> None:
    if order.invoice in {InvoiceState.ACCEPTED, InvoiceState.SETTLED}:
        return  # already booked
    if (
        order.status is not Status.WAITING_PAYMENT
        or order.invoice is not InvoiceState.OPEN
        or invoice.sats <= 0
    ):
        work.put(CLOSING, order.id)  # return it to the payer
        return
    if invoice.sats < order.to_be_paid:
        log.error(
            "the treasury received less than the invoice's amount",
            extra={"order": order.id, "asked": order.to_be_paid, "taken": invoice.sats},
        )
    hold(
        work,
        order,
        invoice.sats,
        source=ledger.HELD_HTLCS,
        what=Reason.HTLC_HELD,
        key=f"lightning:{order.payment_hash}:promise",
    )
    work.change(
        order.with_changes(
            invoice=InvoiceState.ACCEPTED,
            htlc_sats=invoice.sats,
            htlc_expires=invoice.expires,
        )
    )


def start_ticket(work: UnitOfWork, order: Order) -> Order:
    """Queue the ticket or channel once the whole price is paid; else do nothing."""
    if order.status is not Status.WAITING_PAYMENT:
        return order
    if work.holds(order) < order.total_fee:
        return order
    task = SOURCES[order.kind].task
    paid = advance(order, Event.PAID, paid_at=work.now, offered=task == TICKET)
    work.put(task, order.id)
    if order.invoice is InvoiceState.OPEN:
        # Paid another way: close the invoice, so that nobody pays it again.
        work.put(CLOSING, order.id)
    return work.move(paid)


# 2. The ticket is created.


class _Made(Struct, frozen=True):
    """A created ticket, with the order as it was at the request."""

    due: ClaimedTask
    order: Order
    ref: str
    sealed: bytes


class TicketMaker:
    """Creates tickets; orders in progress at the same time share transactions."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._read = Batcher(self._read_all)
        self._store = Batcher(self._store_all)

    async def make(self, due: ClaimedTask) -> None:
        """Create a paid order's ticket and settle its payment, or refund it all."""
        shop = self._shop
        if (order := await self._read(due.key)) is None:
            raise NotFound
        if order.status is not Status.CREATING:
            await finish_without_ticket(shop, due)
            return
        ticket = await _offer(shop, order)
        if isinstance(ticket, NoTicket):
            log.warning(
                "no ticket was created", extra={"order": order.id, "why": ticket.why}
            )
            await refund(shop, due, order)
        elif order.held_htlc and not await _settle(shop, order):
            log.warning("the held payment is gone", extra={"order": order.id})
            await refund(shop, due, order)
        else:
            purpose = ticket_purpose(order.id)
            sealed = shop.sealer.seal(ticket.text.encode(), purpose=purpose)
            await self._store(_Made(due, order, ticket.ref, sealed))

    async def _read_all(self, order_ids: Sequence[str]) -> Iterable[Order | None]:
        found = await self._shop.database.reader.orders.get_many(order_ids)
        by_id = {order.id: order for order in found}
        return [by_id.get(order_id) for order_id in order_ids]

    async def _store_all(self, made: Sequence[_Made]) -> Iterable[None]:
        """Do step 4 for all of these; completing the tasks proves that we own them."""
        ids = [each.order.id for each in made]
        async with self._shop.database.transaction() as tx:
            now = self._shop.clock()
            work = await UnitOfWork.load(tx, ids, now=now)
            # A surplus becomes credit. That is rare, and known only after loading: then
            # lock the organizations, and read their debts again.
            if any(work.surplus(work.order(order_id)) > 0 for order_id in ids):
                work = await UnitOfWork.load(tx, ids, now=now, lock_organizations=True)
            for each in sorted(made, key=lambda each: each.order.id):
                _keep_ticket(work, each)
            await work.flush(tx)
            await complete_all(tx, [each.due for each in made])
        _observe([work.order(order_id) for order_id in ids], self._shop.clock())
        return [None] * len(made)


async def _offer(shop: Shop, order: Order) -> Ticket | NoTicket:
    try:
        return await shop.market.offer(order.id, order.quote)
    except MarketAway:
        asked_since = order.paid_at or order.created
        if shop.clock() - asked_since < shop.rules.ticket_patience:
            raise
        return NoTicket("the auction did not respond in time")


# 3. The HTLC is settled.


async def _settle(shop: Shop, order: Order) -> bool:
    request = order.payment_request
    return request is not None and await shop.payments.settle(request)


# 4. The payment is booked and the ticket stored.


def _keep_ticket(work: UnitOfWork, made: _Made) -> None:
    order = work.order(made.order.id)
    if order.status in ENDED:
        work.put(WITHDRAWAL, order.id)
    if order.status is not Status.CREATING:
        return
    if order.held_htlc != made.order.held_htlc:
        raise Stale(f"{order.id} was paid another way in the meantime")
    if order.held_htlc:
        order = settle(work, order)
    credit(
        work,
        order,
        work.surplus(order),
        source=ledger.held(order.id),
        what=Reason.SURPLUS,
        key=f"ticketed:{order.id}:surplus",
    )
    work.move(
        advance(order, Event.TICKETED, sealed_ticket=made.sealed, ticket_ref=made.ref)
    )


def _observe(orders: Iterable[Order], now: datetime) -> None:
    for order in orders:
        if order.status is Status.CREATED and order.paid_at is not None:
            _TICKET.observe((now - order.paid_at).total_seconds())


# 5. The ticket is shown.


async def wait_for_ticket(shop: Shop, order: Order) -> Order:
    """Wait up to `answer_waits` for the ticket of a paid order; return the order."""
    until = time.monotonic() + shop.rules.answer_waits.total_seconds()
    pause_s = _FIRST_POLL_S
    while order.status is Status.CREATING and time.monotonic() < until:
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _SLOWEST_POLL_S)
        order = await shop.database.reader.orders.get(order.id)
    return order


def open_ticket(shop: Shop, order: Order) -> str:
    """Return the ticket in plaintext for its organization; "" if none yet."""
    if order.sealed_ticket is None:
        return ""
    purpose = ticket_purpose(order.id)
    return shop.sealer.open(order.sealed_ticket, purpose=purpose).decode()
