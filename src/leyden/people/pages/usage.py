"""The organization's quotas and their usage."""

from starlette.responses import Response

from leyden.domain.quotas import WORDS
from leyden.services.shared import quotas
from leyden.web.visits import Visit


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
