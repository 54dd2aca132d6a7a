"""What the books and the treasury agree about: what it received, and who it is."""

from collections.abc import AsyncIterator
from typing import Final

from leyden.domain import ledger
from leyden.domain.orders import Order
from leyden.domain.payments import Invoice, InvoiceState, OutputState
from leyden.payments.base import Payments
from leyden.services.operators.broken_rules import Broken
from leyden.storage.database import Database

# More confirmations than any sum waits for: what has as many was forgotten.
_ENOUGH: Final = 144


async def broken_by_identity(
    database: Database, payments: Payments
) -> AsyncIterator[Broken]:
    """Yield that it is another treasury than the one that took payments."""
    known = await database.reader.treasury.find()
    found = await payments.identity()
    if known is not None and found != known.pubkey:
        yield Broken("I5", f"the treasury is {found}, and {known.pubkey} took payments")


async def broken_by(
    database: Database, payments: Payments, orders: list[Order]
) -> AsyncIterator[Broken]:
    """Yield what of these orders is booked otherwise than the treasury knows it."""
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
                f"order {order.id}: {received:,} sat came over Lightning, "
                f"{booked:,} are booked",
            )
    for order, _ in requests.values():
        for known in await database.reader.outputs.of_order(order.id):
            counts = known.state in {OutputState.BOOKED, OutputState.BURIED}
            output = outputs.pop(known.outpoint, None)
            mined = output is not None and output.confirmations > 0
            if counts and not mined:
                yield Broken("I5", f"output {known.outpoint} is booked and not there")
            if not counts and output is not None and output.confirmations > _ENOUGH:
                yield Broken("I5", f"output {known.outpoint} exists and is not booked")
            if output is not None and output.sats != known.sats:
                yield Broken("I5", f"output {known.outpoint} has another sum")
    for outpoint in outputs:
        yield Broken("I5", f"output {outpoint} was never seen")
