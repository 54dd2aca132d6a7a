"""How many requests were answered, by operation and status."""

from functools import cache

from prometheus_client import Counter

from leyden.figures import REGISTRY

_REQUESTS = Counter(
    "leyden_requests",
    "Answered API requests.",
    ["operation", "status"],
    registry=REGISTRY,
)


@cache
def _requests(operation: str, status: int) -> Counter:
    # Looking a pair up costs more than counting it; there are a few hundred pairs.
    return _REQUESTS.labels(operation, str(status))


def count(operation: str, status: int) -> None:
    """Count one more answer."""
    _requests(operation, status).inc()
