"""The tickets that the poolds of a private chain know: over gRPC, REST has no list."""

from pathlib import Path
from typing import Any

from leyden.devnet import access
from leyden.errors import LeydenError
from leyden.market.ends import OVER
from leyden.market.poold import Access, Poold
from leyden.market.sidecars import Sidecars

_PATIENCE_S = 5.0
_SHOWN = 50


async def shown(network: access.Access) -> list[dict[str, Any]]:
    """List tickets of each poold, those that wait first; of one that is away, none.

    It knows no order of them: they come by their ids, which are random.
    """
    rows: list[dict[str, Any]] = []
    for name, reached in network.pools.items():
        poold = Poold(
            Access(
                host=reached.grpc,
                certificate=Path(reached.certificate),
                macaroon=Path(reached.macaroon),
            ),
            patience_s=_PATIENCE_S,
        )
        try:
            told = await Sidecars(poold).all_()
        except LeydenError:
            continue
        finally:
            await poold.close()
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


def _is_over(ticket: Any) -> bool:
    return ticket.state in OVER
