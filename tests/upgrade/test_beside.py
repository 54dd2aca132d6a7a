"""A schema that was migrated still serves the release before it, which runs beside.

A rolling upgrade migrates first: until its last process is replaced, the release before
reads and writes rows of the new schema. It knows no new column, and names each one that
it writes: so what it knows must stay as it was, and what it does not know must be had
without it. What goes is taken away a release later, by a migration that stores in
`schema_floor` the newest one of the first version that does without
(docs/decisions/0112).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import alembic.command
import pytest
import sqlalchemy as sa
from alembic.script import Script, ScriptDirectory

from leyden.base.database.schema import _config, _oldest, connected
from leyden.values import Struct

# The newest migration of the last release. To be moved on with each release.
LAST_RELEASE = "0034_relocations"


class Table(Struct, frozen=True):
    """What a statement can stumble over."""

    columns: Mapping[str, Mapping[str, Any]]
    rules: Mapping[str, str]  # by name: what is checked, or unique


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/one.db"
    found: str = request.getfixturevalue("postgres_url")
    with connected(found) as connection:
        connection.execute(sa.text("DROP SCHEMA public CASCADE"))
        connection.execute(sa.text("CREATE SCHEMA public"))
    return found


def at(url: str, version: str) -> Mapping[str, Table]:
    """Migrate to a version; return the tables that it has."""
    with _config() as config, connected(url) as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, version)
    with connected(url) as connection:
        found = sa.inspect(connection)
        return {
            name: Table(
                columns={each["name"]: dict(each) for each in found.get_columns(name)},
                rules=dict(_rules(found, name)),
            )
            for name in found.get_table_names()
            if name != "alembic_version"
        }


def _rules(inspector: sa.Inspector, table: str) -> Iterator[tuple[str, str]]:
    for check in inspector.get_check_constraints(table):
        yield str(check["name"]), str(check["sqltext"])
    for unique in inspector.get_unique_constraints(table):
        yield str(unique["name"]), " ".join(unique["column_names"])
    for index in inspector.get_indexes(table):
        if index["unique"]:
            yield str(index["name"]), " ".join(map(str, index["column_names"]))


def hindrances(before: Mapping[str, Table], after: Mapping[str, Table]) -> list[str]:
    """Name what the release before stumbles over."""
    found = [f"{name} is gone" for name in before.keys() - after.keys()]
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        found += [
            f"{name}.{each} is gone" for each in old.columns.keys() - new.columns.keys()
        ]
        for column, is_now in new.columns.items():
            was = old.columns.get(column)
            optional = is_now["nullable"] or is_now["default"] is not None
            if was is None and not optional:
                found.append(f"{name}.{column} is new, and has no default")
            if was is None:
                continue
            if str(was["type"]) != str(is_now["type"]):
                found.append(f"{name}.{column} was {was['type']}")
            if was["nullable"] and not is_now["nullable"]:
                found.append(f"{name}.{column} could be NULL")
            if was["default"] is not None and is_now["default"] is None:
                found.append(f"{name}.{column} had a default")
        # A list of values that became longer has the name that it had.
        found += [
            f"{name}: {rule} is new"
            for rule in new.rules.keys() - old.rules.keys()
            if old.columns.keys() & set(re.findall(r"\w+", new.rules[rule]))
        ]
    return sorted(found)


def oldest(url: str) -> str:
    """Return the migration that a version must know to run on the schema."""
    with connected(url) as connection:
        return _oldest(connection) or ""


def since_last_release() -> Iterator[Script]:
    """List the migrations of the release to come, in their order."""
    with _config() as config:
        found = ScriptDirectory.from_config(config)
        yield from reversed([*found.iterate_revisions("head", LAST_RELEASE)])


def test_the_newest_schema_serves_the_last_release(url: str) -> None:
    before, floor = at(url, LAST_RELEASE), oldest(url)
    assert len(before) > 40
    for migration in since_last_release():
        after, raised = at(url, migration.revision), oldest(url)
        if raised == floor:
            assert hindrances(before, after) == [], migration.revision
        before, floor = after, raised
    assert floor <= LAST_RELEASE, "what was taken away, the last release does without"


def test_what_does_not_serve_it_is_named(url: str) -> None:
    before = at(url, LAST_RELEASE)
    with connected(url) as connection:
        for change in (
            "ALTER TABLE node_start RENAME TO node_begin",
            "ALTER TABLE node RENAME COLUMN crashes TO falls",
            "ALTER TABLE home ADD COLUMN at BIGINT",
            "ALTER TABLE task ADD COLUMN who TEXT",
            "CREATE UNIQUE INDEX one ON task (holder)",
        ):
            connection.execute(sa.text(change))
    assert hindrances(before, at(url, LAST_RELEASE)) == [
        "node.crashes is gone",
        "node.falls is new, and has no default",
        "node_start is gone",
        "task: one is new",
    ]
