"""The list of nodes."""

import asyncio
from collections.abc import Hashable, Iterable, Sequence

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from leyden.base.pages import changes as changing
from leyden.base.pages.visits import Visit
from leyden.base.rules.sign_in import Right
from leyden.nodes import restoring
from leyden.nodes.fleet import FleetSettings
from leyden.nodes.pages.checklist import tasks
from leyden.nodes.pages.fleet import fleet_of, rules_of
from leyden.nodes.pages.next_steps import IN_LISTS, UPDATED_IN
from leyden.nodes.rows.nodes import CountOfStatus
from leyden.nodes.rules import versions
from leyden.nodes.rules.nodes import NodeListing
from leyden.nodes.rules.versions import Version
from leyden.values import Struct

_AT_A_TIME = 100
_MANY = 1_000
_ROWS_AT_A_TIME = 25  # 3 ms
_FEW = 8  # so many are seen at a glance: no bar of states, and first steps are shown


async def list_(visit: Visit) -> HTMLResponse:
    """List the nodes, filtered by status or name, page by page."""
    counts = await visit.rows.nodes.by_status(visit.organization_id)
    deleted = await restoring.list_(visit.rows, visit.organization_id)
    just = visit.query.text("deleted")
    return visit.render(
        "nodes/list.html",
        deleted=deleted,
        just_deleted=next((each for each in deleted if each.id == just), None),
        listed=await _listed(visit, counts),
        tasks=await tasks(visit) if _sum(counts) <= _FEW else (),
        mark=changing.mark(tuple(counts)),
    )


async def changes(visit: Visit) -> Response:
    """Stream an event whenever the list changes."""
    fleet, organization_id = fleet_of(visit), visit.organization_id

    async def read() -> Hashable:
        return tuple(await fleet.database.reader.nodes.by_status(organization_id))

    return changing.stream(visit, changing.after_commits(fleet.database, read))


async def _listed(visit: Visit, counts: Sequence[CountOfStatus]) -> Markup:
    if not counts:
        return Markup()
    rules, nodes = rules_of(visit), visit.rows.nodes
    status, name = visit.query.text("status"), visit.query.text("name")
    every = _sum(counts)
    if every > _MANY:  # ten thousand are counted in some milliseconds, and once more
        await asyncio.sleep(0)
    count = await nodes.count(visit.organization_id, status=status, name=name)
    last = max(1, -(-count // _AT_A_TIME))
    page = min(max(1, visit.query.number("page", 1)), last)
    if every > _MANY:
        await asyncio.sleep(0)
    some = await nodes.page(
        visit.organization_id,
        status=status,
        name=name,
        skipped=(page - 1) * _AT_A_TIME,
        limit=_AT_A_TIME,
    )
    text = visit.templates.get_template("nodes/listed.html").render(
        rows=await _rows(visit, some, rules),
        count=count,
        every=every,
        parts=parts((each.status, each.nodes) for each in counts)
        if every > _FEW
        else [],
        root=visit.root,
        name=name,
        wanted=status,
        page=page,
        last=last,
    )
    return Markup(text)  # noqa: S704  escaped there


async def _rows(
    visit: Visit, nodes: Sequence[NodeListing], rules: FleetSettings
) -> Markup:
    row = visit.templates.get_template("nodes/row.html")
    next_steps = IN_LISTS if visit.may(Right.NODES) else {}
    rows = []
    for number, node in enumerate(nodes, start=1):
        shown = row.render(
            node=node, newer=_newer(node, rules), root=visit.root, next=next_steps
        )
        rows.append(Markup(shown))  # noqa: S704  escaped there
        if number % _ROWS_AT_A_TIME == 0:
            await asyncio.sleep(0)
    return Markup().join(rows)


def _sum(counts: Sequence[CountOfStatus]) -> int:
    return sum(each.nodes for each in counts)


def _newer(node: NodeListing, rules: FleetSettings) -> Version | None:
    """Return the recommended update of a node that needs nothing else."""
    if node.status not in UPDATED_IN:
        return None
    return versions.newest_for(Version.of(node.version), rules.catalogue)


class Part(Struct, frozen=True, kw_only=True):
    """A state's count, and its position in a bar of 100 units."""

    state: str
    count: int
    begins: float
    width: float


def parts(counts: Iterable[tuple[str, int]]) -> list[Part]:
    """Lay out the states from the left, the most frequent first."""
    max_first = sorted(counts, key=lambda each: -each[1])
    hundredth = sum(count for _, count in max_first) / 100
    found, begins = [], 0.0
    for state, count in max_first:
        width = count / hundredth
        found.append(Part(state=state, count=count, begins=begins, width=width))
        begins += width
    return found
