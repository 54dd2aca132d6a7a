"""Schema and statements fit together, on both databases."""

import re
import sqlite3
from pathlib import Path

import psycopg
import pytest

import leyden
from leyden.base.database.every_table import metadata
from leyden.base.database.statements import SqlFile, Statement
from leyden.channels.rows import orders
from leyden.channels.rows.order_rows import COLUMNS
from leyden.channels.rules.orders import FINAL, OrderStatus

SOURCES = Path(leyden.__file__).parent
FILES = {path.stem: path for path in sorted(SOURCES.rglob("*.sql"))}
NOUNS = sorted(FILES)
SQL = {
    noun: orders.sql if noun == "orders" else SqlFile(str(path))  # with its columns
    for noun, path in FILES.items()
}
EVERY = [statement for file in SQL.values() for statement in file]
_OF_A_TYPE = {
    "bigint": "1",
    "bytea": "'1'",
    "integer": "1",
    "text": "'1'",
    "text[]": "'{1}'",
}


def written(noun: str) -> list[tuple[str, str]]:
    """Return the name and the text of each statement, as they stand in the file."""
    _, *parts = FILES[noun].read_text().split("-- name: ")
    return [(name, text) for name, _, text in (part.partition("\n") for part in parts)]


def for_prepare(statement: Statement) -> bytes:
    numbers = {name: f"${at}" for at, name in enumerate(statement.parameters, start=1)}
    return (statement.postgresql % numbers).encode()


def test_sqlite_prepares_each_statement(sqlite_url: str) -> None:
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as connection:
        for statement in EVERY:
            nothing = dict.fromkeys(statement.parameters)
            connection.execute(f"EXPLAIN {statement.sqlite}", nothing)


def test_postgresql_prepares_each_statement(postgres_url: str) -> None:
    """Told no types: it finds out by itself what each parameter is."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for statement in EVERY:
            connection.execute(b"PREPARE one AS " + for_prepare(statement))
            connection.execute("DEALLOCATE one")


def test_each_statement_runs_as_it_is_written(sqlite_url: str) -> None:
    """Comments, semicolon and all, as it is pasted into sqlite3."""
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as connection:
        for noun in NOUNS:
            for name, text in written(noun):
                nothing = dict.fromkeys(getattr(SQL[noun], name).parameters)
                connection.execute(f"EXPLAIN {text}", nothing)


@pytest.mark.parametrize(
    ("noun", "name", "index"),
    [
        *(
            ("orders", f"in_{each}", f"ix_channel_order_{each}")
            for each in OrderStatus
            if each not in FINAL
        ),
        ("orders", "payable_direct", "ix_channel_order_created"),
        ("orders", "overdue_tickets", "ix_channel_order_creating"),
        ("orders", "overdue_openings", "uq_channel_order_asked"),
        ("orders", "failed", "ix_channel_order_failed"),
        ("orders", "capacity_ordered_since", "ix_channel_order_direct_created"),
        ("orders", "capacity_asked_since", "ix_channel_order_direct_paid_at"),
        ("leases", "closed_early", "ix_lease_closed_early"),
        ("audit", "latest", "ix_audit_at"),
        ("audit", "people", "ix_audit_members"),
        ("events", "logged_at", "ix_event_once"),
        (
            "subscription_deliveries",
            "page",
            "ix_subscription_delivery_subscription_id",
        ),
    ],
)
def test_rows_among_very_many_are_found_by_an_index(
    sqlite_url: str, postgres_url: str, noun: str, name: str, index: str
) -> None:
    """Of PostgreSQL this is the plan for any parameters, which it may come to use."""
    statement = getattr(SQL[noun], name)
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as connection:
        nothing = dict.fromkeys(statement.parameters, 1)
        plan = connection.execute(
            f"EXPLAIN QUERY PLAN {statement.sqlite}", nothing
        ).fetchall()
        assert index in str(plan)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute(b"PREPARE one AS " + for_prepare(statement))
        assert index in _plan(connection, "force_generic_plan")


def test_a_plan_for_any_values_uses_the_indexes_too(postgres_url: str) -> None:
    """Connections ask for one such plan for each statement, and keep it."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off")
        for statement in EVERY:
            connection.execute(b"PREPARE one AS " + for_prepare(statement))
            of_any, of_these = (
                _whole_tables(connection, mode)
                for mode in ("force_generic_plan", "force_custom_plan")
            )
            assert of_any <= of_these, statement.name
            connection.execute("DEALLOCATE one")


def _whole_tables(connection: psycopg.Connection, mode: str) -> int:
    """Return how many tables `one` reads from end to end, in a plan of this mode."""
    return _plan(connection, mode).count("Seq Scan")


def _plan(connection: psycopg.Connection, mode: str) -> str:
    ((types,),) = connection.execute(
        "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'one'"
    ).fetchall()
    values = ", ".join(_OF_A_TYPE[each] for each in types)
    connection.execute(f"SET plan_cache_mode = {mode}".encode())
    words = f"EXPLAIN EXECUTE one({values})" if values else "EXPLAIN EXECUTE one"
    return str(connection.execute(words.encode()).fetchall())


@pytest.mark.parametrize("noun", NOUNS)
def test_a_star_is_what_the_insert_names_and_the_table_has(noun: str) -> None:
    """But for numbers that the database gives out, which are asked for by name."""
    texts = [re.sub(r"--.*", "", text) for _, text in written(noun)]
    inserted = {"channel_order": {*COLUMNS}} | {
        table: {each.strip() for each in columns.split(",")}
        for text in texts
        for table, columns in re.findall(r"INSERT INTO (\w+) \(([^)]*)\)", text)
    }
    for text in texts:
        for table in re.findall(r"SELECT \*\s+FROM (\w+)", text):
            assert inserted[table] == {*metadata.tables[table].columns.keys()}
        for head, table in re.findall(r"SELECT ([^*]*)\b(\w+)\.\*", text):
            asked_for = set(re.findall(r"\w+", head))
            columns = {*metadata.tables[table].columns.keys()}
            assert inserted[table] | asked_for == columns


@pytest.mark.parametrize("noun", NOUNS)
def test_no_name_is_given_twice(noun: str) -> None:
    names = [name for name, _ in written(noun)]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    ("text", "sqlite", "postgresql"),
    [
        ("SELECT :one, a::TEXT", "SELECT :one, a::TEXT", "SELECT %(one)s, a::TEXT"),
        (
            "SELECT ':no 5 %''s' % 2",
            "SELECT ':no 5 %''s' % 2",
            "SELECT ':no 5 %%''s' %% 2",
        ),
        (
            "SELECT 1 -- :no, '\n/* :no' */ + :a;",
            "SELECT 1 \n + :a",
            "SELECT 1 \n + %(a)s",
        ),
        (
            "SELECT a WHERE a IN (:as) /* FOR UPDATE SKIP LOCKED */;",
            "SELECT a WHERE a IN (SELECT value FROM json_each(:as))",
            "SELECT a WHERE a = ANY(%(as)s) FOR UPDATE SKIP LOCKED",
        ),
    ],
)
def test_only_what_the_databases_say_in_different_ways_is_translated(
    text: str, sqlite: str, postgresql: str
) -> None:
    statement = Statement(text)
    assert (statement.sqlite, statement.postgresql) == (sqlite, postgresql)


def test_a_name_that_there_is_not_is_refused() -> None:
    with pytest.raises(AttributeError, match=r"orders\.sql has no `-- name: purchase`"):
        _ = orders.sql.purchase
