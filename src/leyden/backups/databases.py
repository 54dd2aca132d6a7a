"""Read a database by its URL, without opening it as the platform does."""

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from leyden.backups import facts
from leyden.backups.facts import Facts
from leyden.base.database.engines import engine, unreachable


class Reading:
    """A read-only connection with one transaction."""

    def __init__(self, url: str) -> None:
        self._engine = engine(url)

    def __enter__(self) -> Connection:
        """Connect, with a snapshot of the database until the end."""
        try:
            self._connection = self._engine.connect()
            if self._engine.dialect.name == "postgresql":
                self._connection.execute(
                    text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                )
        except SQLAlchemyError as error:
            raise unreachable(error) from None
        return self._connection

    def __exit__(self, *_: object) -> None:
        """Disconnect."""
        self._connection.close()
        self._engine.dispose()


def describe(url: str) -> tuple[str, Facts]:
    """Return a database's schema version, row counts and sums."""
    with Reading(url) as connection:
        return facts.schema(connection), facts.of(connection)
