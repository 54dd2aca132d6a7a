"""Bids: what a registered ticket becomes in the auction.

poold cancels a bid along with its ticket only once poold has recorded the
bid. So withdrawing a ticket means looking for its bid as well.
"""

import logging

from leyden.channels.tickets.poold import NO_SUCH_BID, Poold
from leyden.channels.tickets.stubs import auctioneer_pb2 as auctioneer
from leyden.channels.tickets.stubs import trader_pb2 as trader
from leyden.errors import MarketAway, MarketRefused

log = logging.getLogger(__name__)

FILLED = auctioneer.OrderState.ORDER_EXECUTED
ALIVE = frozenset(
    {
        auctioneer.OrderState.ORDER_SUBMITTED,
        auctioneer.OrderState.ORDER_CLEARED,
        auctioneer.OrderState.ORDER_PARTIALLY_FILLED,
    }
)
_AGAIN_S = 2


class Bids:
    """The bids that our poold knows."""

    def __init__(self, poold: Poold) -> None:
        self._poold = poold

    async def states(self, *, active_only: bool = False) -> dict[bytes, int]:
        """Return the state of each bid, by its nonce."""
        request = trader.ListOrdersRequest(active_only=active_only)
        response = await self._poold.call("ListOrders", request)
        return {each.details.order_nonce: each.details.state for each in response.bids}

    async def end(self, nonce: bytes) -> bool:
        """Ensure that a bid is not matched any more; return True if filled.

        Raise MarketAway while the bid takes part in a batch: the outcome is unknown
        until then.
        """
        state = (await self.states()).get(nonce)
        if state in ALIVE:
            if not await self._cancel(nonce):
                return False
            state = (await self.states()).get(nonce)
        if state in ALIVE:
            raise MarketAway(
                "the auction is still cancelling the bid; try again",
                retry_after_s=_AGAIN_S,
            )
        return state == FILLED

    async def _cancel(self, nonce: bytes) -> bool:
        """Cancel a bid with the auctioneer; return False if it is unknown there."""
        request = trader.CancelOrderRequest(order_nonce=nonce)
        try:
            await self._poold.call("CancelOrder", request)
        except MarketRefused as error:
            if NO_SUCH_BID in error.message:
                # poold goes on setting its price aside until it is started again.
                log.warning(
                    "a bid was not in the auction", extra={"nonce": nonce.hex()}
                )
                return False
        return True
