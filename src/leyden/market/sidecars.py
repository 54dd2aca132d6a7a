"""The tickets that our poold knows, and those among them that lost their order."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from leyden.domain.pricing import Quote
from leyden.market.book import Book
from leyden.market.poold import Poold
from leyden.market.stubs import trader_pb2 as trader

OFFERED = "offered"
_AT_ONCE = 16
# The whole list has every ticket ever made. It is worth asking for when so many of it
# are wanted that asking one by one costs more.
_WANTED_OF_THE_LIST = 20


class Sidecars:
    """The list of tickets."""

    def __init__(self, poold: Poold) -> None:
        self._poold = poold
        self._length = 0  # of the whole list, when it was last seen
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def all_(self) -> list[Any]:
        """Give every ticket ever made."""
        told = await self._poold.call("ListSidecars", trader.ListSidecarsRequest())
        self._length = len(told.tickets)
        return list(told.tickets)

    async def find(self, ref: str) -> Any | None:
        """Give one ticket, if it is known."""
        asked = trader.ListSidecarsRequest(sidecar_id=bytes.fromhex(ref))
        async with self._turns:
            told = await self._poold.call("ListSidecars", asked)
        # Eight bytes may collide with a stranger's; what we offer has our bid in it.
        ours = [each for each in told.tickets if any(each.order_bid_nonce)]
        return ours[0] if ours else None

    async def find_many(self, refs: Sequence[str]) -> dict[str, Any]:
        """Give these tickets, those that are known."""
        if len(refs) * _WANTED_OF_THE_LIST < self._length:
            found = await asyncio.gather(*(self.find(ref) for ref in refs))
            return {
                ref: each
                for ref, each in zip(refs, found, strict=True)
                if each is not None
            }
        wanted = set(refs)
        return {
            ref: each
            for each in await self.all_()
            if (ref := each.id.hex()) in wanted and any(each.order_bid_nonce)
        }


class Strays:
    """Tickets that were made for orders which never heard of it.

    Nobody has seen them, so each may be given to an order that wants just this. poold
    tells of a ticket's size, not of the rate that will be bid: where orders with other
    rates may have asked for it, it is left alone.
    """

    def __init__(self, sidecars: Sidecars, book: Book) -> None:
        self._sidecars = sidecars
        self._book = book
        self._known: Mapping[str, Any] | None = None

    def look_again(self) -> None:
        """Take it that there may be new ones: a call was not answered."""
        self._known = None

    async def take(
        self, quote: Quote, *, trader_key: str, in_hand: Collection[str]
    ) -> Any | None:
        """Give one that fits, for good; `in_hand` are not lost, only not kept yet."""
        if self._known is None:
            self._known = await self._look(trader_key, in_hand)
        channel = quote.channel
        fitting = [ref for ref, each in self._known.items() if _fits(each, quote)]
        if not fitting:
            return None
        wanted = (quote.rate_fixed, str(channel.node_tier))
        if await self._book.unanswered(channel) - {wanted}:
            return None
        owned = await self._book.owned(fitting)
        self._known = {
            ref: each for ref, each in self._known.items() if ref not in fitting[:1]
        }
        if fitting[0] in owned:
            return None
        found = await self._sidecars.find(fitting[0])
        return found if found is not None and found.state == OFFERED else None

    async def _look(
        self, trader_key: str, in_hand: Collection[str]
    ) -> Mapping[str, Any]:
        offered = {
            each.id.hex(): each
            for each in await self._sidecars.all_()
            if each.state == OFFERED
            and each.offer_auto
            and each.offer_sign_pubkey.hex() == trader_key
        }
        owned = await self._book.owned(offered) | set(in_hand)
        return {ref: each for ref, each in offered.items() if ref not in owned}


def _fits(ticket: Any, quote: Quote) -> bool:
    channel = quote.channel
    return (
        ticket.offer_capacity,
        ticket.offer_push_amount,
        ticket.offer_lease_duration_blocks,
    ) == (channel.capacity, channel.self_chan_balance, channel.lease_duration_blocks)
