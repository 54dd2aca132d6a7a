"""The organization's quotas and their usage."""

from starlette.responses import Response

from leyden.base.pages.visits import Visit
from leyden.people import quotas
from leyden.people.rules.quotas import WORDS


async def show(visit: Visit) -> Response:
    """Show the quotas of the organization."""
    platform = visit.platform
    found = await quotas.usage(
        platform.database,
        quotas.limits(platform.settings),
        visit.organization_id,
        now=visit.now,
    )
    return visit.render("usage/show.html", quotas=found, words=WORDS)
