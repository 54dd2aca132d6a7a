"""Compare the ledger with the treasury: its identity, and the payments it received."""

from collections.abc import AsyncIterator, Iterator
from typing import Final

from leyden.base.database.database import Database
from leyden.channels.books.broken_rules import Broken
from leyden.channels.payments.base import Payments
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order
from leyden.channels.rules.payments import (
    Invoice,
    InvoiceState,
    KnownOutput,
    Outpoint,
    Output,
    OutputState,
)

# More than the platform ever waits for: such an output should be booked by now.
_ENOUGH_CONFIRMATIONS: Final = 144


async def broken_by_identity(
    database: Database, payments: Payments
) -> AsyncIterator[Broken]:
    """Yield a violation if another lnd answers than the one that received payments."""
    known = await database.reader.treasury.find()
    found = await payments.identity()
    if known is not None and found != known.pubkey:
        what = f"the treasury is {found}, but {known.pubkey} received the payments"
        yield Broken("I5", what)


async def broken_by(
    database: Database,
    payments: Payments,
    orders: list[Order],
    *,
    unknown: list[str] | None = None,
) -> AsyncIterator[Broken]:
    """Yield where the ledger and the treasury differ about payments of these orders.

    With `unknown`, orders whose invoice the treasury does not know are added to it, and
    are not compared: another treasury received their payments.
    """
    by_hash = {order.payment_hash: order for order in orders if order.payment_request}
    updates = await payments.lookup(
        [request for order in by_hash.values() if (request := order.payment_request)]
    )
    invoices = {
        each.payment_hash: each for each in updates if isinstance(each, Invoice)
    }
    if unknown is not None:
        for payment_hash, invoice in invoices.items():
            if invoice.state is InvoiceState.MISSING:
                unknown.append(by_hash.pop(payment_hash).id)
    addresses = {order.onchain_address for order in by_hash.values()}
    outputs = {
        each.outpoint: each
        for each in updates
        if isinstance(each, Output) and each.address in addresses
    }
    for payment_hash, order in by_hash.items():
        if (reported := invoices.get(payment_hash)) and (
            broken := await _invoice(database, order, reported)
        ):
            yield broken
    for order in by_hash.values():
        for known in await database.reader.outputs.of_order(order.id):
            for what in _output(known, outputs.pop(known.outpoint, None)):
                yield _broken(known.outpoint, what)
    for outpoint in outputs:
        yield _broken(outpoint, "the treasury has it, but no order does")


async def _invoice(database: Database, order: Order, invoice: Invoice) -> Broken | None:
    booked = sum(
        each.entry.sats
        for each in await database.reader.ledger.of_order(order.id)
        if each.entry.source == ledger.RECEIVED
        and each.entry.key.startswith(f"lightning:{invoice.payment_hash}")
    )
    received = invoice.sats if invoice.state is InvoiceState.SETTLED else 0
    if booked == received:
        return None
    return Broken(
        "I5",
        f"order {order.id}: the treasury received {received:,} sat over Lightning, but "
        f"{booked:,} are booked",
        order.id,
    )


def _output(known: KnownOutput, output: Output | None) -> Iterator[str]:
    counts = known.state in {OutputState.BOOKED, OutputState.BURIED}
    depth = output.confirmations if output is not None else 0
    if counts and depth <= 0:
        yield "it is booked, but the treasury has no confirmed output"
    if not counts and depth > _ENOUGH_CONFIRMATIONS:
        yield "it is confirmed, but not booked"
    if output is not None and output.sats != known.sats:
        yield f"it has {output.sats:,} sat, but {known.sats:,} are recorded"


def _broken(outpoint: Outpoint, what: str) -> Broken:
    return Broken("I5", f"output {outpoint}: {what}", str(outpoint))
