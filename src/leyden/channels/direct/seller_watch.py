"""Watch all channels that the seller opened, with one read of its wallet."""

import logging

from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.direct import funding_watch, lease_watch, reservations
from leyden.channels.services import ChannelServices
from leyden.errors import SellerAway

log = logging.getLogger(__name__)


async def watch(channels: ChannelServices, due: ClaimedTask) -> None:
    """Check fundings and leases; the task never ends."""
    try:
        await check(channels)
    except SellerAway as error:
        log.warning("can't watch direct channels", extra={"why": str(error)})
    async with due.transaction() as tx:
        await due.reschedule(tx, due=channels.clock() + channels.rules.channels_every)


async def check(channels: ChannelServices) -> None:
    """Check once; raise SellerAway if the seller does not respond."""
    reader, seller = channels.database.reader, channels.seller
    fundings = await reader.fundings.watched(limit=1)
    if seller is None or not (fundings or await reader.leases.running(limit=1)):
        return
    wallet = await reservations.read_wallet(channels)
    try:
        await funding_watch.check(channels, seller, wallet)
    finally:  # a failure of one does not prevent the other
        await lease_watch.check(channels, seller, wallet)


async def retire(_channels: ChannelServices, _due: ClaimedTask) -> None:
    """Complete a task of the previous release, which had separate ones."""
