"""Times as we keep them (microseconds since the epoch) and as we show them.

Every time in the program is aware and in UTC; the wire shows ISO 8601 with a Z.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def utc_now() -> datetime:
    """Tell the time; the one clock that app.py hands to everything."""
    return datetime.now(UTC)


def to_us(when: datetime) -> int:
    """Give the whole microseconds since the epoch, without a float on the way."""
    return (when - _EPOCH) // _MICROSECOND


def from_us(us: int) -> datetime:
    """Give back exactly the time that `to_us` was given."""
    return _EPOCH + timedelta(microseconds=us)


def to_iso(when: datetime) -> str:
    """Write the time as the API shows it: `2026-01-31T12:00:00.000Z`."""
    return f"{when.isoformat(timespec='milliseconds')[:23]}Z"
