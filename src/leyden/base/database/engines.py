"""SQLAlchemy engines, for migrations and for reading a whole database."""

from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from leyden.base.database.urls import is_sqlite
from leyden.errors import SetupError


def engine(url: str) -> Engine:
    """Return an engine without a pool, for one connection."""
    if not is_sqlite(url):
        url = f"postgresql+psycopg://{url.partition('://')[2]}"
    return create_engine(url, poolclass=NullPool)


def unreachable(error: SQLAlchemyError) -> SetupError:
    """Return the error for a database that can't be opened."""
    reason = str(getattr(error, "orig", error)).strip().splitlines()[0]
    return SetupError(f"database_url: can't open the database: {reason}")
