"""How many requests were answered, by operation and status."""

from leyden import figures

_REQUESTS = figures.counter(
    "leyden_requests_total", "Answered API requests.", "operation", "status"
)


def count(operation: str, status: int) -> None:
    """Count one more answer."""
    _REQUESTS.count(operation, str(status))
