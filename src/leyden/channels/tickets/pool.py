"""Lightning Pool: tickets from our poold, channels from its auction.

poold does not know our orders and reserves nothing for a ticket before it
is registered; the book of our orders makes up for both. poold's word on a
ticket is not enough to pay for it: a ticket counts as filled with a lease,
and as cancelled once neither ticket nor bid can be matched any more.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from leyden.base.rules.units import Sats
from leyden.channels.rules.pricing import LEASES, AuctionTerms, NodeTier, Quote
from leyden.channels.tickets.account import PoolAccount
from leyden.channels.tickets.bids import Bids
from leyden.channels.tickets.book import Book, may_take
from leyden.channels.tickets.poold import Poold
from leyden.channels.tickets.rules.auction import AuctionAccount
from leyden.channels.tickets.rules.tickets import (
    NoTicket,
    Progress,
    Ticket,
    TicketState,
)
from leyden.channels.tickets.sidecars import Sidecars
from leyden.channels.tickets.stubs import auctioneer_pb2 as auctioneer
from leyden.channels.tickets.stubs import trader_pb2 as trader
from leyden.channels.tickets.ticket_ends import OVER, STATES, Ends
from leyden.channels.tickets.ticket_text import ref_of
from leyden.errors import Malformed, MarketAway, MarketRefused, SoldOut

log = logging.getLogger(__name__)

_REGISTERED = "registered"
_TIERS = {
    NodeTier.ANY: auctioneer.NodeTier.TIER_0,
    NodeTier.BEST: auctioneer.NodeTier.TIER_1,
}
_UNIT = 100_000  # satoshis: the smallest channel there is
_ORDER_VERSION = 5  # what poold's own command line sends
_SOLD_OUT_FOR_S = 60
_TAKES_ORDERS = frozenset(
    {
        auctioneer.DurationBucketState.ACCEPTING_ORDERS,
        auctioneer.DurationBucketState.MARKET_OPEN,
    }
)
_TERMS_HOLD_S = 10.0
_LATER_S = 60
_AGAIN_S = 2
_SETTLES_S = 0.5
_UNKNOWN = "the provider's poold does not know the ticket"
# More than these, and the answer is garbage.
_MAX_BASE_FEE, _MAX_FEE_PPM = 1_000_000, 500_000


class PoolMarket:
    """The auction as seen by one poold."""

    def __init__(
        self,
        poold: Poold,
        account: PoolAccount,
        book: Book,
        *,
        batch_fee_sat_per_kw: int,
        registering_takes_s: float = 15.0,
    ) -> None:
        self._poold = poold
        self._account = account
        self._book = book
        self._batch_fee = batch_fee_sat_per_kw
        self._registering_takes_s = registering_takes_s
        self._bids = Bids(poold)
        self._ends = Ends(poold, account, self._bids)
        self._sidecars = Sidecars(poold)
        self._turn = asyncio.Lock()
        self._made: dict[str, str] = {}  # refs by order, until an order has its own
        self._registered: dict[str, float] = {}  # since when, by ref
        self._terms: tuple[float, AuctionTerms] | None = None

    async def terms(self) -> AuctionTerms:
        """Return the auction's terms, cached for some seconds."""
        now = time.monotonic()
        if self._terms is None or now - self._terms[0] > _TERMS_HOLD_S:
            self._terms = (now, await self._ask_terms())
        return self._terms[1]

    async def ready(self, quote: Quote) -> None:
        """Check that a channel can be bought after all that is already paid for."""
        blocks = quote.channel.lease_duration_blocks
        if blocks not in (await self.terms()).leases:
            raise Malformed(
                f"lease_duration_blocks: the auction does not offer {blocks} at the "
                "moment"
            )
        await self._account_with_room(quote)

    async def offer(self, order_id: str, quote: Quote) -> Ticket | NoTicket:
        """Create the order's ticket, one order at a time, or return it.

        Only poold's answer tells whether a ticket was created: nothing on a ticket
        names its order. A ticket whose answer was lost is left alone, for nobody
        has seen its text.
        """
        async with self._turn:
            if (ref := self._made.get(order_id)) is None:
                try:
                    made = await self._make_ticket(order_id, quote)
                except MarketRefused as error:
                    return NoTicket(error.message)
                self._made[order_id] = made.ref
                return made
            found = await self._sidecars.find(ref)
        if found is None or STATES.get(found.state) is TicketState.CANCELLED:
            return NoTicket("the ticket was cancelled")
        return Ticket(ref=ref, text=found.encoded_ticket)

    async def progress(self, refs: Sequence[str]) -> Mapping[str, Progress]:
        """Return the progress of these tickets."""
        if not refs:
            return {}
        tickets = await self._sidecars.find_many(refs)
        self._made = {
            order_id: ref for order_id, ref in self._made.items() if ref not in refs
        }
        for ref in refs:  # of these alone: others are asked about in another call
            if ref not in tickets or tickets[ref].state != _REGISTERED:
                self._registered.pop(ref, None)
        over = await self._ends.of(tickets)
        known = {
            ref: Progress(state=TicketState.MISSING)
            for ref in refs
            if ref not in tickets
        }
        for ref, ticket in tickets.items():
            if ref in over:
                if (progress := over[ref]) is not None:
                    known[ref] = progress
            elif (state := self._state(ref, ticket)) is not None:
                known[ref] = Progress(state=state, order_nonce=_nonce_of(ticket, state))
        return known

    async def withdraw(self, order_id: str, ref: str) -> bool:
        """Cancel the order's ticket and its bid.

        A ticket that nobody has seen needs no cancelling: nobody can register it. A
        ticket that an order has and poold does not know may still be matched: then
        this is another poold, or poold lost its database.
        """
        has_ref = bool(ref)
        ref = ref or self._made.get(order_id, "")
        ticket = await self._sidecars.find(ref) if ref else None
        if ticket is None:
            if has_ref:
                raise MarketAway(_UNKNOWN, retry_after_s=_LATER_S)
            return True
        if ticket.state not in OVER:
            request = trader.CancelSidecarRequest(sidecar_id=ticket.id)
            try:
                await self._poold.call("CancelSidecar", request)
            except MarketRefused as error:
                log.info(
                    "a ticket was not cancelled",
                    extra={"ref": ref, "why": error.message},
                )
        if ticket.state == _REGISTERED:
            # Its bid may be under way just now, and poold does not hold that up.
            await asyncio.sleep(_SETTLES_S)
        filled = await self._bids.end(ticket.order_bid_nonce)
        ticket = await self._sidecars.find(ref)
        if not filled and ticket is not None and ticket.state not in OVER:
            raise MarketAway(
                "the auction is still cancelling the ticket; try again",
                retry_after_s=_AGAIN_S,
            )
        return not filled

    async def _account_with_room(
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

    async def _make_ticket(self, order_id: str, quote: Quote) -> Ticket:
        """Create the order's ticket; raise SoldOut if there is no room for it."""
        account = await self._account_with_room(quote, order_id)
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

    async def _ask_terms(self) -> AuctionTerms:
        fee, durations = await asyncio.gather(
            self._poold.call("AuctionFee", trader.AuctionFeeRequest()),
            self._poold.call("LeaseDurations", trader.LeaseDurationRequest()),
        )
        base, ppm = fee.execution_fee.base_fee, fee.execution_fee.fee_rate
        buckets = durations.lease_duration_buckets
        offered = tuple(
            blocks for blocks in LEASES if buckets.get(blocks) in _TAKES_ORDERS
        )
        if base > _MAX_BASE_FEE or ppm > _MAX_FEE_PPM:
            raise MarketAway(
                "the auction's terms are not plausible", retry_after_s=_LATER_S
            )
        if not offered:
            raise MarketAway(
                "the auction accepts no orders at the moment", retry_after_s=_LATER_S
            )
        return AuctionTerms(
            leases=offered, execution_fee_base=Sats(base), execution_fee_ppm=ppm
        )

    def _state(self, ref: str, ticket: Any) -> TicketState | None:
        if ticket.state == _REGISTERED:
            since = self._registered.setdefault(ref, time.monotonic())
            if time.monotonic() - since > self._registering_takes_s:
                return TicketState.BROKEN
        if (state := STATES.get(ticket.state)) is None:
            log.error(
                ("poold returned an unknown ticket state"), extra={"word": ticket.state}
            )
        return state


def _nonce_of(ticket: Any, state: TicketState) -> str:
    """Return the bid's nonce once the bid is in the auction."""
    return str(ticket.order_bid_nonce.hex()) if state is TicketState.SUBMITTED else ""
