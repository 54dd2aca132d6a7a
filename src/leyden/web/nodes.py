"""The list of nodes."""

from collections.abc import Hashable

from markupsafe import Markup
from starlette.responses import Response

from leyden.domain import versions
from leyden.domain.nodes import Listed
from leyden.domain.versions import Version
from leyden.services import nodes
from leyden.services.fleet import Fleet
from leyden.services.remembered import Remembered
from leyden.web import changes as changing
from leyden.web.fleet import fleet_of
from leyden.web.visits import Visit

_AT_A_TIME = 100
# A row is rendered once for each state of a node, and a list is put together once for
# each state of all its nodes: most looks at one find it as it was.
_rows: Remembered[Markup] = Remembered()
_lists: Remembered[tuple[Markup, str]] = Remembered(100)


async def list_(visit: Visit) -> Response:
    """List the organization's nodes, a page at a time."""
    fleet = fleet_of(visit)
    stamps = await nodes.stamps(fleet, visit.organization_id)
    last = max(1, -(-len(stamps) // _AT_A_TIME))
    page = min(max(1, visit.query.number("page", 1)), last)
    found = _lists.find((visit.root, page, tuple(stamps)))
    if found is None:
        listed = await nodes.list_(fleet, visit.organization_id)
        stamps = [each.stamp for each in listed]  # which may be newer by now
        start = (page - 1) * _AT_A_TIME
        rows = Markup().join(
            _rows.find((visit.root, each.stamp)) or _row(visit, fleet, each)
            for each in listed[start : start + _AT_A_TIME]
        )
        found = _lists.keep(
            (visit.root, page, tuple(stamps)), (rows, changing.mark(tuple(stamps)))
        )
    rows, mark = found
    return visit.render(
        "nodes/list.html",
        rows=rows,
        count=len(stamps),
        page=page,
        last=last,
        mark=mark,
    )


async def changes(visit: Visit) -> Response:
    """Tell whenever the list has changed."""
    fleet, organization_id = fleet_of(visit), visit.organization_id

    async def look() -> Hashable:
        return tuple(await nodes.stamps(fleet, organization_id))

    return changing.stream(visit, look)


def _row(visit: Visit, fleet: Fleet, node: Listed) -> Markup:
    newer = versions.newest_for(Version.of(node.version), fleet.rules.catalogue)
    text = visit.templates.get_template("nodes/row.html").render(
        node=node, newer=newer, root=visit.root
    )
    return _rows.keep((visit.root, node.stamp), Markup(text))  # noqa: S704  escaped there
