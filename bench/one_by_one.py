"""A naive program that settles payments: one plain connection, one commit for each.

What lies in the database after ours lies there after it, too: the very tables, with
their constraints, triggers and indexes; the order `created` with its ticket, the entry,
the balance and both moves. But only what lasts is written, each row once: it has no
queue that tasks come to and go from, and no order of its passes through `creating`.

In all else it is as fast as such a program can be made. Tickets are made and sealed,
and values bound to rows, before the clock starts; statements stay prepared; nothing is
read, nothing is told twice; page cache and checkpoints are as ours.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from leyden.domain import ledger
from leyden.domain.orders import Order
from leyden.domain.tickets import Ticket
from leyden.domain.times import to_us, utc_now
from leyden.market.simulated import SimulatedMarket
from leyden.services.channels.shop import ticket_purpose
from leyden.storage.secrets import Keyring, Sealer
from leyden.storage.sqlite import connect_to_write

_PAID = """
UPDATE channel_order SET status = 'created', paid_at = ?, offered = 1,
    invoice_state = 'settled', accepted = ?, ticket_ref = ?, sealed_ticket = ?
WHERE id = ? AND status = 'waiting_payment'"""
_ENTRY = """
INSERT INTO entry (key, at, what, source, target, sats, organization_id, order_id,
    actor, note)
VALUES (?, ?, 'payment', 'received', ?, ?, ?, ?, 'leyden', '')"""
_HELD = "INSERT INTO balance (place, sats) VALUES (?, ?)"
_MOVES = """
INSERT INTO order_move (order_id, at, before, after)
VALUES (?, ?, 'waiting_payment', 'creating'), (?, ?, 'creating', 'created')"""

Row = tuple[str | int | bytes, ...]
Rows = tuple[Row, Row, Row, Row]


async def rows_of(orders: Sequence[Order]) -> list[Rows]:
    """Make what is to be written of each payment, its ticket included."""
    market = SimulatedMarket()
    sealer = Sealer(Keyring.new())
    made = []
    for order in orders:
        ticket = await market.offer(order.id, order.quote)
        assert isinstance(ticket, Ticket)
        purpose = ticket_purpose(order.id)
        sealed = sealer.seal(ticket.text.encode(), purpose=purpose)
        made.append(_rows(order, ticket.ref, sealed))
    return made


def _rows(order: Order, ref: str, sealed: bytes) -> Rows:
    now, sats = to_us(utc_now()), order.to_be_paid
    place, key = ledger.held(order.id), f"lightning:{order.payment_hash}"
    return (
        (now, sats, ref, sealed, order.id),
        (key, now, place, sats, order.organization_id, order.id),
        (place, sats),
        (order.id, now, order.id, now),
    )


def settle(path: Path, made: Sequence[Rows]) -> float:
    """Return the payments a second that reach `created`."""
    connection = connect_to_write(path)
    execute = connection.execute
    began = time.perf_counter()
    for paid, entry, held, moves in made:
        execute("BEGIN IMMEDIATE")
        assert execute(_PAID, paid).rowcount == 1
        execute(_ENTRY, entry)
        execute(_HELD, held)
        execute(_MOVES, moves)
        execute("COMMIT")
    rate = len(made) / (time.perf_counter() - began)
    connection.close()
    return rate
