"""One example of each operation: a request, and what the API answered.

The file is recorded by tests/app/examples, and a test keeps it as the API is.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import UNSET

from leyden.values import Struct, field


class Example(Struct, frozen=True):
    """A request and its answer."""

    answer: Any
    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, str | int] = field(default_factory=dict)
    body: Any = UNSET


@cache
def examples() -> dict[str, Example]:
    """Return the examples by the names of their operations."""
    recorded = (files("leyden.manual") / "examples.json").read_bytes()
    return msgspec.json.decode(recorded, type=dict[str, Example])
