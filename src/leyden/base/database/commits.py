"""A metric of how long commits take; on SQLite, waiting writers share one commit."""

from typing import Final

from prometheus_client import Histogram

COMMIT: Final = Histogram(
    "leyden_commit_duration_seconds",
    "Time that the database took for a commit, until it was durable.",
    buckets=(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5),
)
