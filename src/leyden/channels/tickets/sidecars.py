"""The tickets that our poold knows."""

import asyncio
from collections.abc import Sequence
from typing import Any

from leyden.channels.tickets.poold import Poold
from leyden.channels.tickets.stubs import trader_pb2 as trader

_AT_ONCE = 16
# The whole list has every ticket ever made. It is worth asking for when so many of it
# are wanted that asking one by one costs more.
_WANTED_OF_THE_LIST = 20


class Sidecars:
    """poold's list of tickets."""

    def __init__(self, poold: Poold) -> None:
        self._poold = poold
        self._length = 0  # of the whole list, when it was last seen
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def all_(self) -> list[Any]:
        """Return every ticket ever created."""
        response = await self._poold.call("ListSidecars", trader.ListSidecarsRequest())
        self._length = len(response.tickets)
        return list(response.tickets)

    async def find(self, ref: str) -> Any | None:
        """Return one ticket, or None if it is unknown."""
        request = trader.ListSidecarsRequest(sidecar_id=bytes.fromhex(ref))
        async with self._turns:
            response = await self._poold.call("ListSidecars", request)
        # Eight bytes may collide with a stranger's; what we offer has our bid in it.
        ours = [each for each in response.tickets if any(each.order_bid_nonce)]
        return ours[0] if ours else None

    async def find_many(self, refs: Sequence[str]) -> dict[str, Any]:
        """Return those of these tickets that are known."""
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
