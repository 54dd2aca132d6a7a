"""What is kept of each guard: where it stands, and what the code is without it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guard:
    """Something that keeps money, keys or a node from being lost or let out."""

    what: str
    file: str  # below src/leyden
    with_it: str
    without_it: str
    tests: str  # where the failing test is to be found
    only: str = "not postgres"  # as pytest's -k
