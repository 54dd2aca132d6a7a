"""The types of events as a table, for docs/customers/events.md."""

import json

from leyden.base.rules.accounts import Scope
from leyden.events.rules.events import TYPES, EventType

_HEAD = "| type | what happened | `data` | seen by keys with |\n|---|---|---|---|\n"


def written() -> str:
    """Return the table in Markdown, a row for each type."""
    return _HEAD + "".join(map(_row, TYPES.values()))


def _row(kind: EventType) -> str:
    data = json.dumps(kind.example)
    scopes = " and ".join(f"`{each}`" for each in Scope if each in kind.scopes)
    return f"| `{kind.name}` | {kind.about} | `{data}` | {scopes} |\n"
