"""A third of the rows of a settled payment, in bare tables: an easy base.

The order, two entries, two balances and an event, one commit for each payment; without
a constraint, an index but the keys, a ticket, or what an order's row has in it besides.
"""

import asyncio
import sqlite3
import time

import psycopg

_BARE = (
    "CREATE TABLE bare_order (id TEXT PRIMARY KEY, status TEXT, paid_at BIGINT)",
    "CREATE TABLE bare_entry (id BIGINT PRIMARY KEY, place TEXT, sats BIGINT)",
    "CREATE TABLE bare_balance (place TEXT PRIMARY KEY, sats BIGINT)",
    "CREATE TABLE bare_event (id TEXT PRIMARY KEY, body TEXT)",
)
_STEPS = (
    """UPDATE bare_order SET status = 'created', paid_at = 1
       WHERE id = {0} AND status = 'waiting_payment'""",
    "INSERT INTO bare_entry VALUES ({1}, 'received', -16163)",
    "INSERT INTO bare_entry VALUES ({2}, {3}, 16163)",
    "UPDATE bare_balance SET sats = sats - 16163 WHERE place = {4}",
    "INSERT INTO bare_balance VALUES ({3}, 16163)",
    "INSERT INTO bare_event VALUES ({0}, 'order created')",
)


def _values(number: int) -> tuple[object, ...]:
    name = str(number)
    # Each has its own account of what came in: eight connections would queue for one.
    return name, 2 * number, 2 * number + 1, f"held:{name}", f"received {number % 64}"


def on_sqlite(url: str, payments: int) -> float:
    """Return the base on SQLite: one connection, one commit for each payment."""
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    for statement in _BARE:
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO bare_order VALUES (?, 'waiting_payment', NULL)",
        [(str(number),) for number in range(payments)],
    )
    connection.executemany(
        "INSERT INTO bare_balance VALUES (?, 0)",
        [(f"received {number}",) for number in range(64)],
    )
    steps = [step.format("?1", "?2", "?3", "?4", "?5") for step in _STEPS]
    began = time.perf_counter()
    for number in range(payments):
        values = _values(number)
        connection.execute("BEGIN IMMEDIATE")
        for step in steps:
            used = 1 + max(int(step[i + 1]) for i, c in enumerate(step) if c == "?")
            connection.execute(step, values[: used - 1])
        connection.execute("COMMIT")
    rate = payments / (time.perf_counter() - began)
    connection.close()
    return rate


async def on_postgres(url: str, payments: int) -> float:
    """Return the base on PostgreSQL: eight connections, one commit for each payment."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as setup:
        for statement in _BARE:
            await setup.execute(statement.encode())
        async with setup.cursor() as cursor:
            await cursor.executemany(
                "INSERT INTO bare_order VALUES (%s, 'waiting_payment', NULL)",
                [(str(number),) for number in range(payments)],
            )
            await cursor.executemany(
                "INSERT INTO bare_balance VALUES (%s, 0)",
                [(f"received {number}",) for number in range(64)],
            )
    names = ("id", "first", "second", "held", "received")
    steps = [step.format(*(f"%({name})s" for name in names)) for step in _STEPS]

    async def some(share: range) -> None:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            for number in share:
                values = dict(zip(names, _values(number), strict=True))
                for step in steps:
                    await connection.execute(step.encode(), values)
                await connection.commit()

    began = time.perf_counter()
    await asyncio.gather(*(some(range(first, payments, 8)) for first in range(8)))
    return payments / (time.perf_counter() - began)
