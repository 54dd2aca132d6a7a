"""Watch the transactions of published channels until they are buried.

A transaction that stays unconfirmed is bumped. The attempt is stored first, so that the
pause before the next attempt is the same if the process dies before it stores the
result. If another transaction has spent the coins for good, the channel can never be
opened: the order ends, and its buyer is refunded.
"""

import logging
from typing import Final

from leyden.base.database.stores import Stores
from leyden.channels.direct.base import Seller
from leyden.channels.direct.rows.fundings import TAKEN
from leyden.channels.direct.rules.fundings import (
    Bump,
    ChainView,
    Funding,
    FundingState,
    Obstacle,
    follow,
)
from leyden.channels.direct.rules.openings import SellerWallet
from leyden.channels.holding import undo
from leyden.channels.services import ChannelServices
from leyden.channels.unit_of_work import UnitOfWork
from leyden.events.rules.events import Data, Event
from leyden.values import replace

log = logging.getLogger(__name__)

_BATCH: Final = 500
# More blocks than a reorganisation removes: search for transactions from this much
# earlier.
_MARGIN: Final = 144


async def check(
    channels: ChannelServices, seller: Seller, wallet: SellerWallet
) -> None:
    """Check all fundings that are not buried; raise SellerAway on no response."""
    reader = channels.database.reader.fundings
    watched = await reader.watched(limit=_BATCH)
    if not watched:
        return
    since = max(0, min(each.since for each in watched) - _MARGIN)
    while watched:
        after = watched[-1].order_id
        # This wallet does not have the fundings of another seller.
        watched = [each for each in watched if each.peer == wallet.pubkey]
        coins = {coin for each in watched for coin in each.coins}
        chain = ChainView(
            height=wallet.height,
            sat_per_vb=wallet.fee_sat_per_vb,
            transactions=await seller.spending(coins, since=since),
        )
        for each in watched:
            await _step(channels, seller, chain, each)
        watched = await reader.watched(after=after, limit=_BATCH)


async def _step(
    channels: ChannelServices, seller: Seller, chain: ChainView, funding: Funding
) -> None:
    state, needed = follow(funding, chain, channels.rules.fundings)
    if state is FundingState.LOST:
        await _lose(channels, funding)
    elif isinstance(needed, Bump):
        await _bump(channels, seller, chain, funding, needed)
    else:
        after = replace(funding, state=state, obstacle=needed)
        if found := chain.find(funding.txid):
            after = replace(after, coins=found.spends)
        if state is FundingState.UNCONFIRMED and funding.state is not state:
            after = replace(after, since=chain.height)
        if after != funding:
            async with channels.database.transaction() as tx:
                await _change(tx, funding, after)


async def _change(tx: Stores, before: Funding, after: Funding) -> bool:
    changed = await tx.fundings.change(before, after)
    if changed and (after.state, after.obstacle) != (before.state, before.obstacle):
        level = logging.ERROR if after.obstacle else logging.INFO
        what = {"order": after.order_id, "channel_point": after.channel_point}
        state = str(after.obstacle or after.state)
        log.log(level, "a funding transaction moved", extra={**what, "state": state})
    return changed


async def _bump(
    channels: ChannelServices,
    seller: Seller,
    chain: ChainView,
    funding: Funding,
    bump: Bump,
) -> None:
    now = channels.clock()
    async with channels.database.transaction() as tx:
        if not await tx.fundings.begin_bump(funding, bump, height=chain.height, at=now):
            return
    refused = await seller.bump(bump.outpoint, bump.fee)
    obstacle = Obstacle.NONE
    if refused is not None:
        obstacle = Obstacle.FORBIDDEN if refused.forbidden else Obstacle.REFUSED
    async with channels.database.transaction() as tx:
        await tx.fundings.end_bump(funding, refused.why if refused else TAKEN)
        await _change(tx, funding, replace(funding, obstacle=obstacle))
        if refused is None:
            data: Data = {
                "order_id": funding.order_id,
                "channel_point": funding.channel_point,
                "sat_per_vbyte": bump.sat_per_vb,
            }
            event = Event(
                organization_id=funding.organization_id,
                type="channel.fee_bumped",
                data=data,
            )
            tx.events.add(event, at=now)


async def _lose(channels: ChannelServices, funding: Funding) -> None:
    """End the order, and refund its payments, exactly once."""
    after = replace(funding, state=FundingState.LOST, obstacle=Obstacle.NONE)
    async with channels.database.transaction() as tx:
        work = await UnitOfWork.load(
            tx, [funding.order_id], now=channels.clock(), lock_organizations=True
        )
        order = work.order(funding.order_id)
        if not await _change(tx, funding, after):
            return
        written = await tx.ledger.of_order(order.id)
        undo(work, order, (each.entry for each in written))
        await work.flush(tx)
    log.error(
        "a channel can never open: another transaction spent its coin",
        extra={"order": order.id, "channel_point": funding.channel_point},
    )
