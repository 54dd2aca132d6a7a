"""Another LSP as a source of channels: its price, and what is checked before."""

import logging
import time
from datetime import datetime
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.units import Sats
from leyden.channels.direct.base import Payer, PayerNode
from leyden.channels.direct.reservations import HOUR
from leyden.channels.direct.rules.purchases import (
    LspPurchase,
    LspPurchaseStatus,
    LspRefused,
    bought_quote,
)
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import Channel, Quote
from leyden.channels.services import ChannelServices, Reserve
from leyden.errors import Conflict, SellerAway, SoldOut

log = logging.getLogger(__name__)

_SOLD_OUT_S: Final = 600


def count(channels: ChannelServices, whose: str) -> None:
    """Count a request for prices; raise TooMany over an organization's limit."""
    channels.quoting.take(whose, at_s=time.monotonic())


async def price(channels: ChannelServices, url: str, channel: Channel) -> Quote:
    """Return the price at an LSP, which names it for an order that nobody will pay."""
    lsp, rules = channels.lsps.at(url), channels.rules
    info = await lsp.info()
    info.check(channel)
    found = await lsp.order(channel)
    if isinstance(found, LspRefused):
        log.warning("an LSP sells no channel", extra={"lsp": url, "why": found.why})
        raise SoldOut(
            "no channel is for sale to this node now; connect the node to "
            f"{info.uri} first, or try another size",
            retry_after_s=_SOLD_OUT_S,
        )
    quote = bought_quote(
        channel, rules.terms, url, found.price, routing_ppm=rules.buying.routing_ppm
    )
    if not found.price or quote.pool_fee > rules.buying.most:
        log.warning(
            "an LSP's price is above buy_most", extra={"lsp": url, "sats": found.price}
        )
        raise SoldOut(retry_after_s=_SOLD_OUT_S)
    return quote


async def prepare(channels: ChannelServices, order: Order) -> Reserve:
    """Check that the channel can be bought; raise SoldOut if it can't.

    Nothing is reserved: an unpaid order costs nothing, and a paid one waits its turn.
    """
    payer, _ = await ready(channels)
    info = await channels.lsps.at(order.quote.source).info()
    if await payer.spendable() < order.quote.pool_fee:
        raise SoldOut(retry_after_s=_SOLD_OUT_S)
    reader, now = channels.database.reader, order.created
    await _check(reader, channels, order, now=now)

    async def reserve(tx: Stores, order: Order) -> None:
        await _check(tx, channels, order, now=now)
        await tx.purchases.add(
            LspPurchase(
                order_id=order.id, status=LspPurchaseStatus.WANTED, uri=info.uri
            )
        )

    return reserve


async def ready(channels: ChannelServices) -> tuple[Payer, PayerNode]:
    """Return the lnd that pays; raise SellerAway if it must not, or can't now."""
    if (payer := channels.payer) is None:
        raise SellerAway("this platform buys no channels", retry_after_s=3600)
    node = await payer.node()
    treasury = await channels.database.reader.treasury.find()
    if treasury is not None and node.pubkey == treasury.pubkey:
        raise SellerAway(
            why="buy_host: this lnd is the treasury; other LSPs are paid by another one"
        )
    if not node.synced:
        raise SellerAway(why="the lnd that pays other LSPs is not synced")
    return payer, node


async def is_within_budget(
    rows: Stores, channels: ChannelServices, more: Sats, *, now: datetime
) -> bool:
    """Return whether so much more may be paid to other LSPs in this hour."""
    spent = await rows.purchases.spent_since(now - HOUR)
    return spent + more <= channels.rules.buying.most_per_hour


async def _check(
    rows: Stores, channels: ChannelServices, order: Order, *, now: datetime
) -> None:
    node, whose = order.quote.channel.node_key, order.organization_id
    if await rows.orders.is_open_to(node, whose, but=order.id):
        raise Conflict(
            "node: has another open order; wait until that order ends, or cancel it"
        )
    if not await is_within_budget(rows, channels, order.quote.pool_fee, now=now):
        raise SoldOut(retry_after_s=_SOLD_OUT_S)
