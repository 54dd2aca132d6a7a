"""Compare the ledger with the treasury: its identity, and the payments it received."""

from collections.abc import AsyncIterator
from typing import Final

from leyden.domain import ledger
from leyden.domain.orders import Order
from leyden.domain.payments import Invoice, InvoiceState, OutputState
from leyden.payments.base import Payments
from leyden.services.operators.broken_rules import Broken
from leyden.storage.database import Database

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
    database: Database, payments: Payments, orders: list[Order]
) -> AsyncIterator[Broken]:
    """Yield where the ledger and the treasury differ about payments of these orders."""
    requests = {
        order.payment_hash: (order, request)
        for order in orders
        if (request := order.payment_request)
    }
    updates = await payments.lookup([request for _, request in requests.values()])
    outputs = {}
    for seen in updates:
        if not isinstance(seen, Invoice):
            outputs[seen.outpoint] = seen
            continue
        order, _ = requests[seen.payment_hash]
        booked = sum(
            each.entry.sats
            for each in await database.reader.ledger.of_order(order.id)
            if each.entry.source == ledger.RECEIVED
            and each.entry.key.startswith(f"lightning:{seen.payment_hash}")
        )
        received = seen.sats if seen.state is InvoiceState.SETTLED else 0
        if booked != received:
            yield Broken(
                "I5",
                f"order {order.id}: the treasury received {received:,} sat over "
                f"Lightning, but {booked:,} are booked",
            )
    for order, _ in requests.values():
        for known in await database.reader.outputs.of_order(order.id):
            counts = known.state in {OutputState.BOOKED, OutputState.BURIED}
            output = outputs.pop(known.outpoint, None)
            mined = output is not None and output.confirmations > 0
            buried = output is not None and output.confirmations > _ENOUGH_CONFIRMATIONS
            if counts and not mined:
                what = "it is booked, but the treasury has no confirmed output"
                yield Broken("I5", f"output {known.outpoint}: {what}")
            if not counts and buried:
                what = "it is confirmed, but not booked"
                yield Broken("I5", f"output {known.outpoint}: {what}")
            if output is not None and output.sats != known.sats:
                what = f"it has {output.sats:,} sat, but {known.sats:,} are recorded"
                yield Broken("I5", f"output {known.outpoint}: {what}")
    for outpoint in outputs:
        yield Broken("I5", f"output {outpoint}: the treasury has it, but no order does")
