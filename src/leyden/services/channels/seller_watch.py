"""Watching all channels that the seller opened, with one look at its wallet."""

import logging

from leyden.errors import SellerAway
from leyden.services.channels import funding_watch, lease_watch, reservations
from leyden.services.channels.shop import Shop
from leyden.services.shared.steps import ClaimedTask

log = logging.getLogger(__name__)


async def watch(shop: Shop, due: ClaimedTask) -> None:
    """Look at fundings and leases; the task never ends."""
    try:
        await look(shop)
    except SellerAway as error:
        log.warning("can't watch direct channels", extra={"why": str(error)})
    async with due.transaction() as tx:
        await due.reschedule(tx, due=shop.clock() + shop.rules.channels_every)


async def look(shop: Shop) -> None:
    """Look once; raise SellerAway without an answer."""
    reader, seller = shop.database.reader, shop.seller
    fundings = await reader.fundings.watched(most=1)
    if seller is None or not (fundings or await reader.leases.running(most=1)):
        return
    wallet = await reservations.look(shop)
    try:
        await funding_watch.look(shop, seller, wallet)
    finally:  # an answer that is missing for the one is no reason to leave the other
        await lease_watch.look(shop, seller, wallet)


async def retire(_shop: Shop, _due: ClaimedTask) -> None:
    """End a task of the release before this one, which had one for each."""
