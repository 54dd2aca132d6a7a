"""Creation of tickets where the Pool account has room."""

import logging

from leyden.channels.rules.pricing import NodeTier, Quote
from leyden.channels.tickets.account import PoolAccount
from leyden.channels.tickets.book import Book, may_take
from leyden.channels.tickets.poold import Poold
from leyden.channels.tickets.rules.auction import AuctionAccount
from leyden.channels.tickets.rules.tickets import Ticket
from leyden.channels.tickets.stubs import auctioneer_pb2 as auctioneer
from leyden.channels.tickets.stubs import trader_pb2 as trader
from leyden.channels.tickets.ticket_text import ref_of
from leyden.errors import SoldOut

log = logging.getLogger(__name__)

_TIERS = {
    NodeTier.ANY: auctioneer.NodeTier.TIER_0,
    NodeTier.BEST: auctioneer.NodeTier.TIER_1,
}
_UNIT = 100_000  # satoshis: the smallest channel there is
_ORDER_VERSION = 5  # what poold's own command line sends
_SOLD_OUT_FOR_S = 60


class Offers:
    """The tickets that our poold offers from one account."""

    def __init__(
        self,
        poold: Poold,
        account: PoolAccount,
        book: Book,
        *,
        batch_fee_sat_per_kw: int,
    ) -> None:
        self._poold = poold
        self._account = account
        self._book = book
        self._batch_fee = batch_fee_sat_per_kw

    async def account_with_room(
        self, quote: Quote, order_id: str | None = None
    ) -> AuctionAccount:
        """Return the account if it has room for this quote, or raise SoldOut.

        Outstanding tickets are counted first.
        """
        # In this order: a ticket that is registered meanwhile is counted twice, and
        # never not at all.
        outstanding = await self._book.outstanding(order_id)
        account = await self._account.find()
        if not account.can_buy:
            log.warning(
                "the account can't buy channels", extra={"state": account.state}
            )
            raise SoldOut(retry_after_s=_SOLD_OUT_FOR_S)
        if account.available < outstanding + may_take(quote):
            log.warning(
                "the Pool account is too small",
                extra={
                    "available": account.available,
                    "outstanding": outstanding,
                    "wanted": may_take(quote),
                },
            )
            raise SoldOut(retry_after_s=_SOLD_OUT_FOR_S)
        return account

    async def make(self, order_id: str, quote: Quote) -> Ticket:
        """Create the order's ticket; raise SoldOut if there is no room for it."""
        account = await self.account_with_room(quote, order_id)
        request = trader.OfferSidecarRequest(
            auto_negotiate=True, bid=self._bid(account.trader_key, quote)
        )
        response = await self._poold.call("OfferSidecar", request)
        return Ticket(ref=ref_of(response.ticket), text=response.ticket)

    def _bid(self, trader_key: str, quote: Quote) -> trader.Bid:
        channel = quote.channel
        return trader.Bid(
            details=trader.Order(
                trader_key=bytes.fromhex(trader_key),
                amt=channel.capacity,
                rate_fixed=quote.rate_fixed,
                # A sidecar channel is bought whole: anything else is refused late.
                min_units_match=channel.capacity // _UNIT,
                max_batch_fee_rate_sat_per_kw=self._batch_fee,
            ),
            lease_duration_blocks=channel.lease_duration_blocks,
            version=_ORDER_VERSION,
            min_node_tier=_TIERS[channel.node_tier],
            self_chan_balance=channel.self_chan_balance,
        )
