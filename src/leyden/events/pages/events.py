"""The events of an organization, or of the installation, newest first."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

from starlette.responses import Response

from leyden.base.pages import changes as changing
from leyden.base.pages.visits import Visit
from leyden.events import log
from leyden.events.rules import cursors
from leyden.events.rules.events import INSTALLATION, StoredEvent, match_types, types_of
from leyden.events.rules.sentences import on_page
from leyden.schemas.events import LoggedEvent
from leyden.values import Struct

_AT_A_TIME: Final = 50


class _Row(Struct, frozen=True, kw_only=True):
    """An event as people read it."""

    event: StoredEvent
    read: LoggedEvent
    text: str
    about: str  # the page of what it is about; "" if it has none


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
        events=await _rows(visit, part.events),
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


async def _rows(visit: Visit, events: Sequence[StoredEvent]) -> list[_Row]:
    """Return the events as sentences, with the names of their orders' nodes."""
    read = [log.item(each) for each in events]
    nodes = await _nodes_of_orders(visit, read)
    rows = []
    for event, each in zip(events, read, strict=True):
        order_id = str(each.data.get("order_id", ""))
        data = {**each.data, "order_id": order_id[:8]}
        text = on_page(each.type, data, node=nodes.get(order_id, ""))
        rows.append(_Row(event=event, read=each, text=text, about=_about(visit, each)))
    return rows


async def _nodes_of_orders(
    visit: Visit, read: Sequence[LoggedEvent]
) -> Mapping[str, str]:
    """Return the names of the organization's nodes that get channels, by order."""
    ids = {str(each.data["order_id"]) for each in read if each.data.get("order_id")}
    if not ids:
        return {}
    orders = await visit.rows.orders.get_many(ids)
    to = {each.id: each.quote.channel.node_id for each in orders}
    names = await visit.rows.nodes.names(
        visit.organization_id, {each for each in to.values() if each}
    )
    return {each: names[node] for each, node in to.items() if node in names}


def _about(visit: Visit, read: LoggedEvent) -> str:
    """Return the page of what the event is about."""
    for name, pages in (("node_id", "nodes"), ("order_id", "channels")):
        if of := read.data.get(name):
            return f"{visit.root}/{pages}/{of}"
    return ""
