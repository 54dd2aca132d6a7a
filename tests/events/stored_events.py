"""What an organization's event log says."""

from collections.abc import Mapping
from typing import Any

import msgspec

from leyden.base.database.database import Database
from leyden.events import log
from leyden.events.rules import cursors
from leyden.events.rules.events import TYPES


async def stored_events(
    database: Database, organization_id: str, *, skip: int = 0
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return type and data of each event, all shaped like their type's example."""
    found = []
    after, has_more = cursors.START, True
    while has_more:
        part = await log.read(
            database.reader, organization_id, TYPES, after=after, limit=100
        )
        after, has_more = part.cursor, part.has_more
        found += [(each.type, msgspec.json.decode(each.data)) for each in part.events]
    for kind, data in found:
        assert _shape(data) == _shape(TYPES[kind].example), kind
    return found[skip:]


async def stored_types(
    database: Database, organization_id: str, *, skip: int = 0
) -> list[str]:
    """Return the type of each event."""
    return [
        kind for kind, _ in await stored_events(database, organization_id, skip=skip)
    ]


def _shape(data: Mapping[str, object]) -> dict[str, type]:
    return {name: type(value) for name, value in data.items()}
