"""Other customers, by the million: copied within the database.

Only SQLite: what is measured with it is how the program's own statements grow.
"""
# ruff: noqa: S608  nobody's words but ours get into these statements

import sqlite3
from contextlib import closing
from pathlib import Path

_TEN = 10  # nodes of each


def fill(folder: Path, *, nodes: int = 0, orders: int = 0) -> None:
    """Add so many nodes and closed orders, ten to an organization, like the first."""
    with closing(sqlite3.connect(folder / "leyden.db", isolation_level=None)) as base:
        base.execute("PRAGMA synchronous=OFF")
        base.execute("BEGIN")
        _organizations(base, max(nodes, orders) // _TEN + 1)
        if nodes:
            _nodes(base, nodes)
        if orders:
            _orders(base, orders)
        base.execute("COMMIT")
        base.execute("PRAGMA synchronous=FULL")
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _organizations(base: sqlite3.Connection, count: int) -> None:
    _copy(base, "organization", count, id="'crowd ' || n", name="'crowd ' || n")


def _nodes(base: sqlite3.Connection, count: int) -> None:
    id_ = "printf('%08x-0000-4000-8000-000000000000N', n)"
    _copy(
        base,
        "node",
        count,
        id=id_,
        organization_id=f"'crowd ' || (n / {_TEN})",
        name="'light ' || n",
        api_endpoint="'light-' || n || '.crowd.example'",
        # Slots from the far end: the few that are taken lie anywhere.
        slot="100000 + n",
    )
    _copy(base, "node_outfit", count, node_id=id_)
    _copy(base, "node_command", count, id="1000000 + n", node_id=id_)


def _orders(base: sqlite3.Connection, count: int) -> None:
    id_ = "printf('%08x-0000-4000-8000-000000000000FO', n)"
    _copy(
        base,
        "channel_order",
        count,
        id=id_,
        organization_id=f"'crowd ' || (n / {_TEN})",
        status="'expired'",
        onchain_address="'address ' || n",
        payment_hash="'hash ' || n",
        invoice_state="'cancelled'",
    )
    _copy(base, "order_move", count, id="1000000 + n", order_id=id_)
    credit = f"'credit:crowd ' || (n / {_TEN})"
    for what, source, target in (
        ("payment", "'received'", credit),
        ("credit_used", credit, f"'held:' || {id_}"),
    ):
        names = {
            "key": f"'crowd {what} ' || n",
            "at": "0",
            "what": f"'{what}'",
            "source": source,
            "target": target,
            "sats": "1000",
            "organization_id": f"'crowd ' || (n / {_TEN})",
            "order_id": id_,
            "actor": "'bench'",
            "note": "''",
        }
        base.execute(
            f"WITH RECURSIVE {_count(count)} INSERT INTO entry ({', '.join(names)}) "
            f"SELECT {', '.join(names.values())} FROM numbers"
        )


def _copy(base: sqlite3.Connection, table: str, count: int, **changes: str) -> None:
    """Copy a table's first row so many times, with these columns changed."""
    columns = [row[1] for row in base.execute(f"PRAGMA table_info({table})")]
    values = ", ".join(changes.get(name, f't."{name}"') for name in columns)
    names = ", ".join(f'"{name}"' for name in columns)
    base.execute(
        f"WITH RECURSIVE {_count(count)} INSERT INTO {table} ({names}) SELECT {values} "
        f"FROM numbers, (SELECT * FROM {table} ORDER BY rowid LIMIT 1) AS t"
    )


def _count(limit: int) -> str:
    return (
        "numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers "
        f"WHERE n + 1 < {limit})"
    )
