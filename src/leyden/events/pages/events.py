"""The events of an organization, or of the installation, newest first."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

from starlette.responses import Response

from leyden.base.pages import changes as changing
from leyden.base.pages.visits import Visit
from leyden.events import log
from leyden.events.rules import cursors
from leyden.events.rules.events import INSTALLATION, StoredEvent, match_types, types_of
from leyden.schemas.events import LoggedEvent

_AT_A_TIME: Final = 50


async def list_(visit: Visit) -> Response:
    """List events of a type, before a cursor."""
    reader, own = visit.platform.database.reader, log_of(visit)
    known = types_of(own)
    before, kind = visit.query.text("before"), visit.query.text("type")
    newest = await log.end(reader, own)
    part = await log.read_back(
        reader,
        own,
        match_types([kind], among=known, known=known) if kind else known,
        before=cursors.parse(own, before, field="before") if before else None,
        limit=_AT_A_TIME,
    )
    older = cursors.write(own, part.cursor.number, part.cursor.tag)
    return visit.render(
        "events/list.html",
        events=[_row(each, visit) for each in part.events],
        kinds=type_groups(known),
        kind=kind,
        log_root=log_root(visit),
        older=older if part.has_more else "",
        mark="" if before else changing.mark(newest.number),
        is_empty=newest.is_start,
    )


async def changes(visit: Visit) -> Response:
    """Stream an event whenever something was logged."""
    database, own = visit.platform.database, log_of(visit)

    async def read() -> Hashable:
        return (await log.end(database.reader, own)).number

    return changing.stream(visit, changing.after_commits(database, read))


def log_of(visit: Visit) -> str:
    """Return whose log a page is about: an organization's, or the installation's."""
    return visit.organization_id if "organization_id" in visit.path else INSTALLATION


def log_root(visit: Visit) -> str:
    """Return the prefix of the URLs of these pages."""
    own = visit.root if "organization_id" in visit.path else "/app/operator"
    return f"{own}/events"


def type_groups(types: Sequence[str] | Mapping[str, object]) -> dict[str, list[str]]:
    """Return types by what they are about: `node.*` has `node.created` and so on."""
    found: dict[str, list[str]] = {}
    for each in types:
        found.setdefault(f"{each.partition('.')[0]}.*", []).append(each)
    return found


def _row(event: StoredEvent, visit: Visit) -> tuple[LoggedEvent, StoredEvent, str]:
    """Return an event as it is read, and the page of what it is about."""
    read = log.item(event)
    for name, pages in (("node_id", "nodes"), ("order_id", "channels")):
        if of := read.data.get(name):
            return read, event, f"{visit.root}/{pages}/{of}"
    return read, event, ""
