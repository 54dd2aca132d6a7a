"""The path from a payment to what was paid for being due.

1. `listen`: the treasury reports payments. Many are booked at once, so that they share
   commits. One that can't be booked while the database is away is not lost: the next
   sweep finds it (payment_sweep.py).
2. `select_unbooked`: of these, what is ours and not booked.
3. `record_payments`: an HTLC that the treasury holds for us is booked as held for its
   order. Once the whole price is held, the order is `creating`, and its ticket or
   channel is due. Coins (outputs.py) and credit (orders.py) lead to the same state.

tickets/ticket_source.py and direct/opening.py follow the order from here. Each step may
be repeated, and after a crash the next run of the same step completes it.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final

from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.channels import invoices, outputs
from leyden.channels.holding import hold
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Reason
from leyden.channels.rules.orders import Order, OrderEvent, OrderStatus, advance
from leyden.channels.rules.payments import (
    Invoice,
    InvoiceState,
    KnownOutput,
    Outpoint,
    Output,
    PaymentUpdate,
)
from leyden.channels.services import (
    CLOSING,
    EVERYTHING,
    EXTENSION,
    SWEEP,
    TICKET,
    ChannelServices,
    ChannelSettings,
    Sources,
)
from leyden.channels.unit_of_work import UnitOfWork, retry_while_stale
from leyden.errors import Away, LeydenError, Stale

log = logging.getLogger(__name__)

# Each sweep tries again, and the treasury is compared with the ledger once a day.
_FOUND_AGAIN_WITHIN: Final = timedelta(hours=26)
# More would block the event loop for longer than other requests should wait.
_AT_ONCE = 512
_MAX_WAITING = 8 * _AT_ONCE


async def listen(channels: ChannelServices, *, pause_s: float = 1.0) -> None:
    """Book payment updates as they arrive, until cancelled.

    Any number of processes may listen: an update that arrives twice is booked
    once. Whenever the treasury is reachable again after an outage, the
    payments of that time are looked up.
    """
    while True:
        try:
            async with channels.database.transaction() as tx:
                await tx.tasks.put(SWEEP, EVERYTHING, due=channels.clock())
            await _book_updates(channels)
        except* LeydenError as group:
            why = {str(error) for error in group.exceptions}
            log.warning("can't follow payments", extra={"why": ", ".join(sorted(why))})
        except* Exception:  # a message that we cannot parse: the next ones may be fine
            log.exception("can't parse the treasury's response")
        await asyncio.sleep(pause_s)


async def _book_updates(channels: ChannelServices) -> None:
    """Book updates until the stream ends or an update cannot be booked.

    The next batch gathers while one is being committed; updates are booked in
    the order in which they arrive.
    """
    queue: asyncio.Queue[PaymentUpdate] = asyncio.Queue(_MAX_WAITING)

    async def book() -> None:
        while True:
            batch = [await queue.get()]
            while len(batch) < _AT_ONCE and not queue.empty():
                batch.append(queue.get_nowait())
            await record_payments(channels, batch, now=channels.clock())

    async with (
        asyncio.TaskGroup() as group,
        aclosing(channels.payments.watch()) as updates,
    ):
        group.create_task(book())
        async for update in updates:
            await queue.put(update)


async def select_unbooked(
    channels: ChannelServices, updates: Sequence[PaymentUpdate]
) -> list[tuple[str, PaymentUpdate]]:
    """List updates to book with their order ids; each block repeats old ones."""
    reader = channels.database.reader
    hashes = {each.payment_hash for each in updates if isinstance(each, Invoice)}
    addresses = {each.address for each in updates if isinstance(each, Output)}
    invoiced = await reader.orders.invoiced(hashes) if hashes else {}
    paid_to = await reader.orders.paid_to(addresses) if addresses else {}
    stored: dict[Outpoint, KnownOutput] = {}
    if paid_to:
        ids = [order.id for order in paid_to.values()]
        stored = {each.outpoint: each for each in await reader.outputs.of_orders(ids)}
    selected: list[tuple[str, PaymentUpdate]] = []
    # The second update of a payment is not compared with what is stored.
    selected_keys: set[str] = set()
    for update in updates:
        if isinstance(update, Invoice):
            if found := invoiced.get(update.payment_hash):
                order_id, state = found
                if state is not update.state or update.payment_hash in selected_keys:
                    selected_keys.add(update.payment_hash)
                    selected.append((order_id, update))
        elif order := paid_to.get(update.address):
            before = stored.get(update.outpoint)
            if (
                before is None
                or outputs.next_state(order, before, update, channels.rules)
                is not before.state
                or str(update.outpoint) in selected_keys
            ):
                selected_keys.add(str(update.outpoint))
                selected.append((order.id, update))
    return selected


async def record_payments(
    channels: ChannelServices, updates: Sequence[PaymentUpdate], *, now: datetime
) -> None:
    """Book many payments at once, in order of arrival; each only once.

    A payment that cannot be booked does not delay the others: if the batch
    fails, each payment is booked by itself, and failures are logged. The next
    sweep retries them.
    """
    unbooked = await select_unbooked(channels, updates)
    await _wake_extensions(channels, updates, unbooked, now)
    try:
        await _record(channels, unbooked, now)
    except Away:
        raise
    except Exception as error:  # noqa: BLE001  probably caused by a single payment
        log.warning(
            "could not book payments together; booking them one by one",
            extra={"payments": len(unbooked), "why": str(error)},
        )
        for order_id, update in unbooked:
            await _record_alone(channels, order_id, update, now)


async def record_payment(
    channels: ChannelServices, update: PaymentUpdate, *, now: datetime
) -> None:
    """Book one payment, or raise; ignore payments that are not ours."""
    unbooked = await select_unbooked(channels, [update])
    await _wake_extensions(channels, [update], unbooked, now)
    await _record(channels, unbooked, now)


async def _wake_extensions(
    channels: ChannelServices,
    updates: Sequence[PaymentUpdate],
    unbooked: Sequence[tuple[str, PaymentUpdate]],
    now: datetime,
) -> None:
    """Queue the extensions of leases that are paid now; they look up the payment."""
    booked = {each.payment_hash for _, each in unbooked if isinstance(each, Invoice)}
    hashes = {
        each.payment_hash
        for each in updates
        if isinstance(each, Invoice)
        and each.state is InvoiceState.ACCEPTED
        and each.payment_hash not in booked
    }
    if not hashes:
        return
    if waiting := await channels.database.reader.extensions.waiting_for(hashes):
        async with channels.database.transaction() as tx:
            await tx.tasks.put_many(EXTENSION, waiting, due=now)


async def _record_alone(
    channels: ChannelServices, order_id: str, update: PaymentUpdate, now: datetime
) -> None:
    try:
        await _record(channels, [(order_id, update)], now)
    except Away:
        raise
    except Stale:
        log.warning("a payment is booked by the next sweep", extra={"order": order_id})
    except Exception as error:
        log.exception(
            "can't book a payment", extra={"order": order_id, "told": str(update)}
        )
        found = Finding(
            kind=AlarmKind.PAYMENT_UNBOOKED,
            subject=order_id,
            what=f"order {order_id}: a payment can't be booked "
            f"({type(error).__name__}): the log has the error",
            lasts=_FOUND_AGAIN_WITHIN,
        )
        async with channels.database.transaction() as tx:
            await tx.findings.add([found], now=now)


async def _record(
    channels: ChannelServices,
    unbooked: Sequence[tuple[str, PaymentUpdate]],
    now: datetime,
) -> None:
    if not unbooked:
        return

    async def step() -> None:
        async with channels.database.transaction() as tx:
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
                decide(work, order_id, update, channels.rules, channels.sources)
            await work.flush(tx)

    await retry_while_stale(step)


def _may_credit(update: PaymentUpdate) -> bool:
    """Return whether money may become credit, judging by the update alone."""
    return isinstance(update, Output) or update.state is InvoiceState.CANCELLED


def decide(
    work: UnitOfWork,
    order_id: str,
    update: PaymentUpdate,
    rules: ChannelSettings,
    sources: Sources,
) -> None:
    """Book a payment update, unless already booked, and advance its order."""
    order = work.order(order_id)
    if isinstance(update, Output):
        outputs.record(work, order, update, rules)
    elif update.state is InvoiceState.ACCEPTED:
        _hold_htlc(work, order, update)
    else:
        invoices.record(work, order, update)
    start_if_paid(work, work.order(order_id), sources)


def _hold_htlc(work: UnitOfWork, order: Order, invoice: Invoice) -> None:
    if order.invoice in {InvoiceState.ACCEPTED, InvoiceState.SETTLED}:
        return  # already booked
    if (
        order.status is not OrderStatus.WAITING_PAYMENT
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


def start_if_paid(work: UnitOfWork, order: Order, sources: Sources) -> Order:
    """Queue the ticket or channel once the whole price is paid; else do nothing."""
    if order.status is not OrderStatus.WAITING_PAYMENT:
        return order
    if work.holds(order) < order.total_fee:
        return order
    task = sources[order.kind].task
    paid = advance(order, OrderEvent.PAID, paid_at=work.now, offered=task == TICKET)
    work.put(task, order.id)
    if order.invoice is InvoiceState.OPEN:
        # Paid another way: close the invoice, so that nobody pays it again.
        work.put(CLOSING, order.id)
    return work.move(paid)
