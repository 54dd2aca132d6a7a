"""The tickets that the poolds of a private chain know.

They are read over gRPC, because REST has no list of them.
"""

from pathlib import Path
from typing import Any

from leyden.devnet import access
from leyden.errors import LeydenError
from leyden.market.poold import Access, Poold
from leyden.market.sidecars import Sidecars
from leyden.market.ticket_ends import OVER

_PATIENCE_S = 5.0
_SHOWN = 50


async def list_tickets(network: access.Access) -> list[dict[str, Any]]:
    """List each poold's tickets, waiting ones first; none if it is down.

    poold has no order of tickets: they come by id, and ids are random.
    """
    rows: list[dict[str, Any]] = []
    for name, reached in network.pools.items():
        try:
            told = await every(reached)
        except LeydenError:
            continue
        rows += [
            {
                "pool": name,
                "id": each.id.hex(),
                "sats": each.offer_capacity,
                "state": each.state,
            }
            for each in sorted(told, key=_is_over)[:_SHOWN]
        ]
    return rows


async def every(reached: access.Pool) -> list[Any]:
    """Return the tickets that a poold knows; raise MarketAway without an answer."""
    poold = Poold(
        Access(
            host=reached.grpc,
            certificate=Path(reached.certificate),
            macaroon=Path(reached.macaroon),
        ),
        patience_s=_PATIENCE_S,
    )
    try:
        return await Sidecars(poold).all_()
    finally:
        await poold.close()


def _is_over(ticket: Any) -> bool:
    return ticket.state in OVER
