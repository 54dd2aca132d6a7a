"""The schema and its versions: `leyden migrate`, and the check at every start.

A migration is one transaction on both databases, so one that is killed half-way has
not happened, and the next run does it whole.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

import alembic.command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from leyden.errors import SetupError

# Any number, as long as every program that migrates this database takes the same.
_MIGRATION_LOCK = 8_735_142_609
_NOTHING = (
    "nothing is installed in {}: `leyden migrate` makes it, or `leyden up` with a "
    "private chain"
)


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """Open one connection, in one transaction that nobody else writes beside."""
    if url.startswith("sqlite:///"):
        _make_folder(Path(url.removeprefix("sqlite:///")).parent)
    else:
        _, _, rest = url.partition("://")
        url = f"postgresql+psycopg://{rest}"
    engine = create_engine(url, poolclass=NullPool)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _leave_transactions_to_us)
        event.listen(engine, "begin", _begin_immediate)
    try:
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(
                    text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
                )
            yield connection
    except OperationalError as error:
        reason = str(error.orig).strip().splitlines()[0]
        raise SetupError(f"database_url: cannot be opened: {reason}") from None
    finally:
        engine.dispose()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"{folder}: cannot be made: {error.strerror}") from None


def migrate(url: str) -> str:
    """Bring the database to this program's schema; give its version.

    The second call finds nothing to do.
    """
    with _config() as config, connected(url) as connection:
        _refuse_newer(connection, config)
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "head")
        return _newest(config)


def check(url: str) -> None:
    """Refuse a database whose schema is older or newer than this program's."""
    file = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:///") and not file.exists():
        raise SetupError(_NOTHING.format(file))  # looking makes no folder, no file
    with _config() as config, connected(url) as connection:
        _refuse_newer(connection, config)
        present = _present(connection)
        if present is None:
            raise SetupError(_NOTHING.format("this database"))
        if present != _newest(config):
            raise SetupError(
                "the database has an older schema; run `leyden migrate` first"
            )


def _refuse_newer(connection: Connection, config: Config) -> None:
    present = _present(connection)
    script = ScriptDirectory.from_config(config)
    known = {each.revision for each in script.walk_revisions()}
    if present is not None and present not in known:
        raise SetupError(
            f"the database has schema {present}, which this version of Leyden does "
            f"not know (its newest is {_newest(config)}); install the version that "
            "made it, or a newer one"
        )


def _present(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def newest() -> str:
    """Give the version that this program has."""
    with _config() as config:
        return _newest(config)


def _newest(config: Config) -> str:
    return ScriptDirectory.from_config(config).get_current_head() or ""


@contextmanager
def _config() -> Iterator[Config]:
    with as_file(files("leyden.storage") / "migrations") as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        yield config


def _leave_transactions_to_us(connection: object, _record: object) -> None:
    connection.isolation_level = None  # type: ignore[attr-defined]


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
