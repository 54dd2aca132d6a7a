"""The organization's audit log."""

from starlette.responses import Response

from leyden.base.pages.visits import Visit
from leyden.errors import Malformed
from leyden.people import activity


async def show(visit: Visit) -> Response:
    """Show who changed what, newest first."""
    page = await activity.list_(
        visit.platform,
        visit.organization_id,
        after=_position(visit.query.text("after")),
    )
    return visit.render(
        "audit/list.html",
        entries=page.entries,
        more="{}.{}".format(*page.after) if page.after else "",
    )


def _position(text: str) -> tuple[int, str] | None:
    if not text:
        return None
    at, _, id_ = text.partition(".")
    if not (at.isascii() and at.isdigit() and len(at) <= 16):  # noqa: PLR2004
        raise Malformed("after: not an entry of this log; open the audit log again")
    return int(at), id_
