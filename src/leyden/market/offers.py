"""Tickets are made where there is room for them at the auction."""

import asyncio

from leyden import logs
from leyden.domain.auction import AuctionAccount
from leyden.domain.pricing import NodeTier, Quote
from leyden.domain.tickets import Ticket
from leyden.errors import SoldOut
from leyden.market.account import PoolAccount
from leyden.market.book import Book, may_take
from leyden.market.poold import Poold
from leyden.market.stubs import auctioneer_pb2 as auctioneer
from leyden.market.stubs import trader_pb2 as trader
from leyden.market.texts import ref_of

log = logs.get()

_TIERS = {
    NodeTier.ANY: auctioneer.NodeTier.TIER_0,
    NodeTier.BEST: auctioneer.NodeTier.TIER_1,
}
_UNIT = 100_000  # satoshis: the smallest channel there is
_ORDER_VERSION = 5  # what poold's own command line sends
_SOLD_OUT_FOR_S = 60
# Tickets that wait for their order: beyond these the oldest are forgotten, for some
# orders end without asking for theirs.
_MOST_UNSEEN = 1_000


class Offers:
    """What our poold offers to the buyers of one account."""

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
        self._trader_key = ""  # of the account as it was last seen
        # Tickets that there was no room for yet, by order, with their account's key.
        self._unseen: dict[str, tuple[str, Ticket]] = {}
        self._begun: dict[str, asyncio.Task[None]] = {}

    async def room(self, quote: Quote, order_id: str | None = None) -> AuctionAccount:
        """Give the account, if it can take this beside what is outstanding."""
        # In this order: a ticket that is registered meanwhile is counted twice, and
        # never not at all.
        outstanding = await self._book.outstanding(order_id)
        account = await self._account.find()
        if not account.buys:
            log.warning("nothing can be bought from the account", state=account.state)
            raise SoldOut(retry_after_s=_SOLD_OUT_FOR_S)
        if account.available < outstanding + may_take(quote):
            log.warning(
                "the account at the auction is too small",
                available=account.available,
                outstanding=outstanding,
                wanted=may_take(quote),
            )
            raise SoldOut(retry_after_s=_SOLD_OUT_FOR_S)
        return account

    def begin(self, order_id: str, quote: Quote) -> None:
        """Make a ticket meanwhile, for `make` to find."""

        def over(task: asyncio.Task[None]) -> None:
            del self._begun[order_id]
            if not task.cancelled() and (error := task.exception()):
                # Whoever makes the ticket tries again, and tells.
                log.info("not begun", order=order_id, why=str(error))

        if order_id not in self._begun:
            task = asyncio.create_task(self._prepare(order_id, quote))
            self._begun[order_id] = task
            task.add_done_callback(over)

    async def make(self, order_id: str, quote: Quote) -> Ticket:
        """Make a ticket, and make sure that there is room for it, both at once.

        One without room waits here for the order's next try: nobody has seen it, and
        it binds no money.
        """
        account, prepared = await asyncio.gather(
            self.room(quote, order_id),
            self._begun.get(order_id) or self._prepare(order_id, quote),
            return_exceptions=True,
        )
        if isinstance(account, BaseException):
            raise account
        if prepared is not None and account.trader_key == self._trader_key:
            raise prepared
        self._trader_key = account.trader_key
        # Another one, if that was for an account that is not ours any more.
        await self._prepare(order_id, quote)
        _, ticket = self._unseen.pop(order_id)
        return ticket

    def forget(self, order_id: str) -> str:
        """Give the ref of what waits for the order, and let it go; "" for nothing."""
        _, ticket = self._unseen.pop(order_id, ("", None))
        return ticket.ref if ticket else ""

    async def _prepare(self, order_id: str, quote: Quote) -> None:
        """Have a ticket for the order, if it is known from which account."""
        key = self._trader_key
        made_with, _ = self._unseen.get(order_id, ("", None))
        if not key or made_with == key:
            return
        asked = trader.OfferSidecarRequest(
            auto_negotiate=True, bid=self._bid(key, quote)
        )
        told = await self._poold.call("OfferSidecar", asked)
        made = Ticket(ref=ref_of(told.ticket), text=told.ticket)
        self._unseen[order_id] = (key, made)
        if len(self._unseen) > _MOST_UNSEEN:
            del self._unseen[next(iter(self._unseen))]

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
