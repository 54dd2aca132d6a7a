"""Convert times to what is stored (microseconds since the epoch) and shown.

Every time in the program is aware and in UTC; the API shows ISO 8601 with a
Z.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def utc_now() -> datetime:
    """Return the current time; the app passes this function on as the only clock."""
    return datetime.now(UTC)


def is_recent(at: datetime, *, now: datetime, within: timedelta) -> bool:
    """Return whether a time is less than `within` from now.

    A time further ahead is from a clock that was set back since. It is not recent:
    otherwise a caller that waits for it to pass would wait for very long.
    """
    return abs(now - at) < within


def to_us(when: datetime) -> int:
    """Return whole microseconds since the epoch, computed without floats."""
    return (when - _EPOCH) // _MICROSECOND


def from_us(us: int) -> datetime:
    """Return exactly the time that was passed to `to_us`."""
    return _EPOCH + timedelta(microseconds=us)


def to_iso(when: datetime) -> str:
    """Format the time as the API shows it: `2026-01-31T12:00:00.000Z`."""
    return f"{when.isoformat(timespec='milliseconds')[:23]}Z"
