"""The schema and its versions: `leyden migrate`, and the startup check.

On both databases a migration is one transaction, so a killed migration has
changed nothing, and the next run starts from the beginning.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

import alembic.command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, inspect, text
from sqlalchemy.exc import OperationalError

from leyden.base.database.engines import engine, unreachable
from leyden.base.database.urls import is_sqlite, sqlite_path
from leyden.errors import SetupError

# An arbitrary number, the same in every program that migrates the database.
_MIGRATION_LOCK = 8_735_142_609
_NOTHING = (
    "nothing is installed in {}: `leyden migrate` installs it, or `leyden up` with a "
    "private chain"
)


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """Open a connection with a transaction that excludes other writers."""
    found = engine(url)
    if is_sqlite(url):
        _make_folder(sqlite_path(url).parent)
        event.listen(found, "connect", _leave_transactions_to_us)
        event.listen(found, "begin", _begin_immediate)
    try:
        with found.begin() as connection:
            if not is_sqlite(url):
                connection.execute(
                    text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
                )
            yield connection
    except OperationalError as error:
        raise unreachable(error) from None
    finally:
        found.dispose()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"{folder}: can't be created: {error.strerror}") from None


def migrate(url: str) -> str:
    """Migrate the database to this program's schema; return its version.

    A second call does nothing, nor does one on a newer schema that this program can
    run on.
    """
    with _config() as config, connected(url) as connection:
        if (newer := _newer(connection, config)) is not None:
            return newer
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "head")
        return _newest(config)


def check(url: str) -> None:
    """Raise SetupError if the schema is older than ours, or too new for us."""
    if is_sqlite(url) and not (file := sqlite_path(url)).exists():
        raise SetupError(_NOTHING.format(file))  # a check creates no folder or file
    with _config() as config, connected(url) as connection:
        if _newer(connection, config) is not None:
            return
        present = _present(connection)
        if present is None:
            raise SetupError(_NOTHING.format("this database"))
        if present != _newest(config):
            raise SetupError(
                "the database has an older schema; run `leyden migrate` first"
            )


def _newer(connection: Connection, config: Config) -> str | None:
    """Return the schema's version if it is newer than ours; raise if it is too new."""
    present = _present(connection)
    script = ScriptDirectory.from_config(config)
    known = {each.revision for each in script.walk_revisions()}
    if present is None or present in known:
        return None
    # A migration that takes something away stores which versions can do without it.
    oldest = _oldest(connection)
    if oldest is not None and oldest <= _newest(config):
        return present
    raise SetupError(
        f"the database has schema {present}, which this version of Leyden cannot run "
        f"on (its newest is {_newest(config)}); install the version that created it, "
        "or a newer one"
    )


def _oldest(connection: Connection) -> str | None:
    if not inspect(connection).has_table("schema_floor"):
        return None
    return str(connection.execute(text("SELECT oldest FROM schema_floor")).scalar_one())


def _present(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _newest(config: Config) -> str:
    return ScriptDirectory.from_config(config).get_current_head() or ""


@contextmanager
def _config() -> Iterator[Config]:
    with as_file(files("leyden.base.database") / "migrations") as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        yield config


def _leave_transactions_to_us(connection: object, _record: object) -> None:
    connection.isolation_level = None  # type: ignore[attr-defined]


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
