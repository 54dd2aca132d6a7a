"""The same people in every test: Alice owns it, Bob is on her team, Charlie is not.

`db` is a real database of each kind, made from a migrated template, so that a test
costs milliseconds. `now` is a time that everyone agrees on.
"""

import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings

from leyden.base.database.database import Database, open_database
from leyden.base.database.schema import migrate
from leyden.base.database.secrets import Keyring, Sealer
from leyden.base.logs import TextFormatter
from tests.emptied import emptied
from tests.metrics import forget_unknown_nodes
from tests.postgres import running_postgres
from tests.programs import built
from tests.reaper import in_memory

pytest_plugins = (
    "tests.supervision",
    "tests.asking_again",
    "tests.longest_first",
    "tests.builds",  # after it: what is not built comes last
    "tests.shared",
    "tests.cluster",
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

# On a busy machine an example may take seconds; pytest-timeout ends what hangs.
settings.register_profile("patient", settings(), deadline=None)
settings.load_profile("patient")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, where everything can be had, what is skipped has failed."""
    del item, call
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
    return report


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What is logged, of every level; its text is as people would read it."""
    caplog.handler.setFormatter(TextFormatter())
    caplog.set_level(logging.DEBUG, logger="leyden")
    return caplog


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    """What a test configures is for that test."""
    root, ours = logging.getLogger(), logging.getLogger("leyden")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


@pytest.fixture
def no_unknown_nodes() -> None:
    """Metrics are one for all tests of a process: an earlier test's count no more."""
    forget_unknown_nodes()


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture(scope="session")
def sealer() -> Sealer:
    return Sealer(Keyring.new())


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    migrate(f"sqlite:///{path}")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A real PostgreSQL, ended with the session."""
    with running_postgres() as (_, uri):
        _query(uri, "ALTER SYSTEM SET max_wal_size = '128MB'")  # of the memory, too
        _query(uri, "SELECT pg_reload_conf()")
        _query(uri, "CREATE DATABASE template_leyden")
        migrate(uri.replace("/postgres?", "/template_leyden?"))
        yield uri


@pytest.fixture
def memory_path() -> Iterator[Path]:
    """As `tmp_path`, but in memory if there is enough: syncing takes no time there."""
    with tempfile.TemporaryDirectory(
        dir=in_memory(), ignore_cleanup_errors=True
    ) as folder:
        Path(folder).chmod(0o755)  # nodes with users of their own pass through
        yield Path(folder)


@pytest.fixture
def sqlite_url(sqlite_template: Path, memory_path: Path) -> str:
    path = memory_path / "leyden.db"
    shutil.copy(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture
def postgres_url(postgres_server: str, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"test_{abs(hash(request.node.nodeid)):x}"
    _query(postgres_server, f"CREATE DATABASE {name} TEMPLATE template_leyden")
    yield postgres_server.replace("/postgres?", f"/{name}?")
    _query(postgres_server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Both databases, one after the other: what holds on one must hold on both.

    PostgreSQL's is the same for all tests of a process, and empty.
    """
    if request.param == "postgres":
        return emptied(request.getfixturevalue("postgres_server"), "kept")
    url: str = request.getfixturevalue("sqlite_url")
    return url


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    database = await open_database(database_url)
    yield database
    await database.close()


@pytest.fixture
async def sqlite_db(sqlite_url: str) -> AsyncIterator[Database]:
    """Only SQLite, for tests that do not care and want to be quick."""
    database = await open_database(sqlite_url)
    yield database
    await database.close()


def _query(uri: str, sql: str) -> None:
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(sql.encode())


@pytest.fixture(scope="session")
def real_lnd() -> Path:
    """lnd of the default version; skipped where nobody has built it yet."""
    return built("lnd")["lnd"]
