"""What whoever runs the installation looks at: everybody's nodes, and the money."""

from typing import Final

from starlette.responses import Response

from leyden.services import treasury_balance
from leyden.web.state_map import patches
from leyden.web.visits import Visit

_MOST_AILING: Final = 200


async def nodes(visit: Visit) -> Response:
    """Show how all nodes do, which lnd they run, and which need somebody."""
    counts = visit.platform.database.reader.counts
    fleet = visit.platform.fleet
    return visit.render(
        "operator/nodes.html",
        nodes=patches(await counts.nodes()),
        versions=await counts.versions(),
        ailing=await counts.ailing(most=_MOST_AILING),
        releases=fleet.rules.catalogue.releases if fleet else (),
        names=await _names(visit),
    )


async def money(visit: Visit) -> Response:
    """Show what is in the treasury and at the auction, and what tickets may take."""
    shop = visit.platform.shop
    return visit.render(
        "operator/money.html",
        balance=await treasury_balance.look(shop) if shop else None,
        names=await _names(visit),
    )


async def _names(visit: Visit) -> dict[str, str]:
    found = await visit.platform.database.reader.accounts.list_()
    return {each.id: each.name for each in found}
