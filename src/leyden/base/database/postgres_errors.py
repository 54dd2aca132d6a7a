"""Translate PostgreSQL's errors into our own."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Final

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from leyden.errors import DatabaseAway, Stale, Violated

_AWAY: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    PoolTimeout,
    errors.ReadOnlySqlTransaction,  # another server is the primary now
)


@contextlib.contextmanager
def translating() -> Iterator[None]:
    """Translate psycopg's errors in the block; restore a lost cancellation.

    In Python 3.11 the pool's `wait_for` loses a cancellation that arrives together with
    a connection, and the cancelled task would run forever.
    """
    task = asyncio.current_task()
    cancelled_before = task.cancelling() if task else 0
    try:
        yield
    except (errors.SerializationFailure, errors.DeadlockDetected) as error:
        raise Stale from error
    except errors.IntegrityError as error:
        raise Violated(str(error)) from error
    except _AWAY as error:
        raise DatabaseAway(retry_after_s=5) from error
    if task and task.cancelling() > cancelled_before:
        raise asyncio.CancelledError
