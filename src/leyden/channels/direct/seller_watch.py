"""Watch all channels that the seller opened, with one read of its wallet."""

import logging

from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.direct import funding_watch, lease_watch, reservations
from leyden.channels.shop import Shop
from leyden.errors import SellerAway

log = logging.getLogger(__name__)


async def watch(shop: Shop, due: ClaimedTask) -> None:
    """Check fundings and leases; the task never ends."""
    try:
        await check(shop)
    except SellerAway as error:
        log.warning("can't watch direct channels", extra={"why": str(error)})
    async with due.transaction() as tx:
        await due.reschedule(tx, due=shop.clock() + shop.rules.channels_every)


async def check(shop: Shop) -> None:
    """Check once; raise SellerAway if the seller does not respond."""
    reader, seller = shop.database.reader, shop.seller
    fundings = await reader.fundings.watched(most=1)
    if seller is None or not (fundings or await reader.leases.running(most=1)):
        return
    wallet = await reservations.read_wallet(shop)
    try:
        await funding_watch.check(shop, seller, wallet)
    finally:  # a failure of one does not prevent the other
        await lease_watch.check(shop, seller, wallet)


async def retire(_shop: Shop, _due: ClaimedTask) -> None:
    """Complete a task of the previous release, which had separate ones."""
