from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from leyden.errors import SetupError
from leyden.storage import first_look, schema
from leyden.storage.every_table import metadata


def test_the_migrations_make_exactly_the_tables(database_url: str) -> None:
    with schema.connected(database_url) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_a_second_run_finds_nothing_to_do(database_url: str) -> None:
    assert schema.migrate(database_url) == schema.migrate(database_url)
    schema.check(database_url)
    first_look.check(database_url)


def test_an_older_program_refuses_a_newer_schema(database_url: str) -> None:
    with schema.connected(database_url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for use in (first_look.check, schema.check, schema.migrate):
        with pytest.raises(SetupError, match="schema 9999, which this version"):
            use(database_url)


def test_an_empty_database_has_to_be_migrated_first(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"nothing is installed in .*new\.db: `leyden"):
        first_look.check(f"sqlite:///{tmp_path}/new.db")
    assert not (tmp_path / "new.db").exists()
    (tmp_path / "empty.db").touch()
    with pytest.raises(SetupError, match="nothing is installed in this database"):
        first_look.check(f"sqlite:///{tmp_path}/empty.db")


def test_an_older_schema_has_to_be_migrated_first(database_url: str) -> None:
    with schema.connected(database_url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    with pytest.raises(SetupError, match="older schema; run `leyden migrate` first"):
        first_look.check(database_url)


def test_a_database_that_does_not_answer_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"^database_url: cannot be opened"):
        first_look.check("postgresql://nobody@127.0.0.1:1/none")
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(SetupError, match=r"^database_url: cannot be opened"):
        first_look.check(f"sqlite:///{tmp_path}/folder.db")
