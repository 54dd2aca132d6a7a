"""The operator's pages about all nodes, and about money."""

from starlette.responses import Response

from leyden.base.pages.state_map import patches
from leyden.base.pages.visits import Visit
from leyden.operators import oversight, treasury_balance


async def nodes(visit: Visit) -> Response:
    """Show all nodes' statuses and versions, and which need attention."""
    counts = visit.platform.database.reader.counts
    fleet = visit.platform.fleet
    return visit.render(
        "operator/nodes.html",
        nodes=patches(await counts.nodes()),
        versions=await counts.versions(),
        ailing=await oversight.ailing(visit.platform),
        releases=fleet.rules.catalogue.releases if fleet else (),
        names=await _names(visit),
    )


async def money(visit: Visit) -> Response:
    """Show the treasury and auction balances, and what tickets may take."""
    shop = visit.platform.shop
    return visit.render(
        "operator/money.html",
        balance=await treasury_balance.read(shop) if shop else None,
        names=await _names(visit),
    )


async def _names(visit: Visit) -> dict[str, str]:
    found = await visit.platform.database.reader.accounts.list_()
    return {each.id: each.name for each in found}
