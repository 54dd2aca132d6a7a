"""Orders that need an operator: ticket missing, late or failed."""

import logging
from datetime import datetime, timedelta
from typing import Final

from leyden.domain.orders import Order, Status
from leyden.errors import MarketAway
from leyden.services.channels.missing_tickets import list_missing
from leyden.services.platform import Platform
from leyden.values import Struct

log = logging.getLogger(__name__)

# What was due so long ago is not being done.
LATE: Final = timedelta(minutes=5)
_MOST_ORDERS: Final = 200
_MISSING: Final = "the market has lost its ticket: `leyden pool abandon` ends it"
_STUCK: Final = "its ticket is not made yet"
_FAILED: Final = "its ticket could not be made"


class AttentionItem(Struct, frozen=True):
    """An order that needs attention."""

    order: Order
    why: str


async def needing_attention(
    platform: Platform, *, now: datetime
) -> list[AttentionItem]:
    """List orders that need attention: ticket missing, late or failed."""
    reader = platform.database.reader.orders
    failed = await reader.in_status(Status.FAILED, most=_MOST_ORDERS)
    creating = await reader.in_status(Status.CREATING, most=_MOST_ORDERS)
    stuck = [each for each in creating if each.paid_at and now - each.paid_at > LATE]
    return [
        *(AttentionItem(each, _MISSING) for each in await _missing(platform)),
        *(AttentionItem(each, _STUCK) for each in stuck),
        *(AttentionItem(each, _FAILED) for each in failed),
    ]


async def _missing(platform: Platform) -> list[Order]:
    """List orders with a missing ticket; none if the market is unavailable."""
    if platform.shop is None:
        return []
    try:
        return await list_missing(platform.shop)
    except MarketAway as error:
        log.warning(
            "it is not known whether tickets are missing", extra={"why": str(error)}
        )
        return []
