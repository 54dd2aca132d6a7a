"""The list of nodes."""

from collections.abc import Hashable, Sequence
from typing import Final

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from leyden.domain import versions
from leyden.domain.nodes import Listed, Stamp, Status
from leyden.domain.versions import Version
from leyden.services import nodes
from leyden.services.fleet import Fleet
from leyden.services.remembered import Remembered
from leyden.web import changes as changing
from leyden.web.fleet import fleet_of
from leyden.web.states import parts
from leyden.web.visits import Visit

_AT_A_TIME = 100
_FEW = 8  # so many one sees at a glance, without a bar of their states
# What is to be done next about a node in this state.
_NEXT: Final = {
    Status.WAITING_INIT: "make its wallet",
    Status.WAITING_UNLOCK: "unlock it",
    Status.FAILED: "look at its log",
}
# A row is rendered once for each state of a node, a list is put together once for each
# state of all its nodes, and a page of it once for whoever looks: most looks find it as
# it was.
_rows: Remembered[Markup] = Remembered()
_lists: Remembered[tuple[Markup, str]] = Remembered(30)
_pages: Remembered[bytes] = Remembered(100)


async def list_(visit: Visit) -> Response:
    """List the organization's nodes, or those of a state or a name, by the page."""
    fleet = fleet_of(visit)
    stamps = await nodes.stamps(fleet, visit.organization_id)
    wish = (
        visit.query.number("page", 1),
        visit.query.text("status"),
        visit.query.text("name"),
    )
    found = _lists.find((visit.root, wish, tuple(stamps)))
    if found is None:
        listed = await nodes.list_(fleet, visit.organization_id)
        stamps = [each.stamp for each in listed]  # which may be newer by now
        put_together = (_listed(visit, fleet, listed, wish), _mark(stamps))
        found = _lists.keep((visit.root, wish, tuple(stamps)), put_together)
    text, mark = found
    # Nothing else is in it, not even the time.
    made_of = (visit.token, visit.url, visit.somebody, mark)
    page = _pages.find(made_of)
    if page is None:
        shown = visit.render("nodes/list.html", listed=text, mark=mark)
        page = _pages.keep(made_of, bytes(shown.body))
    return HTMLResponse(page)


async def changes(visit: Visit) -> Response:
    """Tell whenever the list has changed."""
    fleet, organization_id = fleet_of(visit), visit.organization_id

    async def look() -> Hashable:
        return tuple(await nodes.stamps(fleet, organization_id))

    return changing.stream(visit, changing.after_commits(fleet.database, look))


def _mark(stamps: Sequence[Stamp]) -> str:
    return changing.mark(tuple(stamps))


def _listed(
    visit: Visit, fleet: Fleet, every: Sequence[Listed], wish: tuple[int, str, str]
) -> Markup:
    page, status, name = wish
    if not every:
        return Markup()
    some = [
        each
        for each in every
        if (not status or each.status == status)
        and name.casefold() in each.name.casefold()
    ]
    last = max(1, -(-len(some) // _AT_A_TIME))
    page = min(max(1, page), last)
    start = (page - 1) * _AT_A_TIME
    text = visit.templates.get_template("nodes/listed.html").render(
        rows=Markup().join(
            _rows.find((visit.root, each.stamp)) or _row(visit, fleet, each)
            for each in some[start : start + _AT_A_TIME]
        ),
        count=len(some),
        every=len(every),
        parts=parts(each.status for each in every) if len(every) > _FEW else [],
        root=visit.root,
        name=name,
        wanted=status,
        page=page,
        last=last,
    )
    return Markup(text)  # noqa: S704  escaped there


def _row(visit: Visit, fleet: Fleet, node: Listed) -> Markup:
    newer = versions.newest_for(Version.of(node.version), fleet.rules.catalogue)
    text = visit.templates.get_template("nodes/row.html").render(
        node=node, newer=newer, root=visit.root, next=_NEXT
    )
    return _rows.keep((visit.root, node.stamp), Markup(text))  # noqa: S704  escaped there
