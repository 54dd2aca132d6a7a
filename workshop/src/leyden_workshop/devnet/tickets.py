"""The tickets that the poolds of a private chain know."""

from typing import Any

from leyden.channels.tickets.ticket_ends import OVER
from leyden.customer.claim import poold
from leyden.errors import LeydenError
from leyden_workshop.devnet import access

_SHOWN = 50


async def list_tickets(network: access.ChainAccess) -> list[dict[str, Any]]:
    """List each poold's tickets, waiting ones first; none if it is down.

    poold has no order of tickets: they come by id, and ids are random.
    """
    rows: list[dict[str, Any]] = []
    for name, reached in network.pools.items():
        try:
            listed = await poold.tickets(reached)
        except LeydenError:
            continue
        rows += [
            {
                "pool": name,
                "id": each.id.hex(),
                "sats": each.offer_capacity,
                "state": each.state,
            }
            for each in sorted(listed, key=_is_over)[:_SHOWN]
        ]
    return rows


def _is_over(ticket: Any) -> bool:
    return ticket.state in OVER
