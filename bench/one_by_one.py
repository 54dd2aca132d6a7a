"""A naive program that settles payments: one commit for each, on plain connections.

What lies in the database after ours lies there after it, too: the very tables, with
their constraints, triggers and indexes; the order `created` with its ticket, the entry,
the balance, both moves, and the three events under the next numbers of their log. But
only what lasts is written, each row once: it has no queue that tasks come to and go
from, no order of its passes through `creating`, and no subscription is looked for.

In all else it is as fast as such a program can be made. Tickets are made and sealed,
and values bound to rows, before the clock starts; statements stay prepared; nothing is
read, nothing is told twice; page cache and checkpoints are as ours. On PostgreSQL eight
connections work at once, and each sends the statements of a payment in one go.
"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from leyden.base.database.secrets import Keyring, Sealer
from leyden.base.database.sqlite_connections import connect_to_write
from leyden.base.rules.times import to_us, utc_now
from leyden.channels import order_events
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.services import ticket_purpose
from leyden.channels.tickets.rules.tickets import Ticket
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.events.rules import cursors
from leyden.events.rules.events import Data

_CONNECTIONS = 8
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
_NUMBERS = """
INSERT INTO event_log (organization_id, last, first, oldest) VALUES (?, 3, 1, ?)
ON CONFLICT (organization_id) DO UPDATE SET last = event_log.last + 3"""
_EVENTS = """
INSERT INTO event (organization_id, number, tag, type, created, data)
SELECT organization_id, last - 2, ?, ?, ?, ? FROM event_log WHERE organization_id = ?
UNION ALL
SELECT organization_id, last - 1, ?, ?, ?, ? FROM event_log WHERE organization_id = ?
UNION ALL
SELECT organization_id, last, ?, ?, ?, ? FROM event_log WHERE organization_id = ?"""
_STATEMENTS = (_PAID, _ENTRY, _HELD, _MOVES, _NUMBERS, _EVENTS)

Row = tuple[str | int | bytes, ...]
Rows = tuple[Row, ...]  # of one payment, one for each statement


async def rows_of(orders: Sequence[Order]) -> list[Rows]:
    """Return the rows to write for each payment, its ticket included."""
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
    account, key = ledger.held(order.id), f"lightning:{order.payment_hash}"
    return (
        (now, sats, ref, sealed, order.id),
        (key, now, account, sats, order.organization_id, order.id),
        (account, sats),
        (order.id, now, order.id, now),
        (order.organization_id, now),
        _events(order, now),
    )


def _events(order: Order, now: int) -> Row:
    received: Data = {
        "order_id": order.id,
        "rail": "lightning",
        "amount": order.to_be_paid,
    }
    answer = [("payment.received", received)]
    for status in (OrderStatus.CREATING, OrderStatus.CREATED):
        answer += [
            (each.type, each.data) for each in order_events.of_move(order, status)
        ]
    row: Row = ()
    for tag, (kind, data) in zip(cursors.new_tags(len(answer)), answer, strict=True):
        body = msgspec.json.encode(data).decode()
        row += (tag, kind, now, body, order.organization_id)
    return row


def on_sqlite(path: Path, made: Sequence[Rows]) -> float:
    """Return the payments a second that reach `created`."""
    connection = connect_to_write(path)
    execute = connection.execute
    began = time.perf_counter()
    for paid, *others in made:
        execute("BEGIN IMMEDIATE")
        assert execute(_PAID, paid).rowcount == 1
        for statement, row in zip(_STATEMENTS[1:], others, strict=True):
            execute(statement, row)
        execute("COMMIT")
    rate = len(made) / (time.perf_counter() - began)
    connection.close()
    return rate


async def on_postgres(url: str, made: Sequence[Rows]) -> float:
    """Return the payments a second that eight connections bring to `created`."""
    texts = [statement.replace("?", "%s").encode() for statement in _STATEMENTS]

    async def some(connection: psycopg.AsyncConnection[Any], share: range) -> None:
        for number in share:
            async with connection.pipeline():
                cursors_ = [
                    await connection.execute(text, row, prepare=True)
                    for text, row in zip(texts, made[number], strict=True)
                ]
                await connection.commit()
            assert cursors_[0].rowcount == 1

    connections = [
        await psycopg.AsyncConnection.connect(url) for _ in range(_CONNECTIONS)
    ]
    shares = [range(first, len(made), _CONNECTIONS) for first in range(_CONNECTIONS)]
    began = time.perf_counter()
    await asyncio.gather(*map(some, connections, shares))
    rate = len(made) / (time.perf_counter() - began)
    for connection in connections:
        await connection.close()
    return rate
