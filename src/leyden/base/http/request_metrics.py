"""How many requests were answered, and how long that took.

Labels are a few words that we know ahead: nobody's id, and no path. A request that no
operation was found for, or whose key is not good, has an empty operation and method:
what a caller makes up is no label.
"""

from collections.abc import Callable
from functools import cache
from typing import Final

from prometheus_client import Counter, Histogram

_REQUESTS: Final = Counter(
    "leyden_requests_total", "Answered API requests.", ["operation", "status"]
)
_DURATION: Final = Histogram(
    "leyden_request_duration_seconds",
    "From the head of an API request until its answer is written.",
    ["operation", "method", "status"],
    buckets=(
        *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
        *(0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    ),
)


def observe(operation: str, method: str, status: int, seconds: float) -> None:
    """Count an answer, and the time it took."""
    count(operation, status)
    _duration(operation, method if operation else "", status)(seconds)


def count(operation: str, status: int) -> None:
    """Count an answer whose time says nothing: the caller asked to wait."""
    _counter(operation, status)()


# Looking labels up takes longer than counting.


@cache
def _counter(operation: str, status: int) -> Callable[[], None]:
    return _REQUESTS.labels(operation, str(status)).inc


@cache
def _duration(operation: str, method: str, status: int) -> Callable[[float], None]:
    return _DURATION.labels(operation, method, f"{status // 100}xx").observe
