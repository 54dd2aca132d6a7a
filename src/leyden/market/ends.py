"""How tickets end: what poold says of one is not enough to pay for it.

It is filled with a lease, and cancelled once its bid cannot be matched any more.
"""

import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from leyden import logs
from leyden.domain.tickets import Lease, Progress, TicketState
from leyden.errors import MarketAway
from leyden.market import leases
from leyden.market.account import PoolAccount
from leyden.market.bids import ALIVE, FILLED, Bids
from leyden.market.poold import Poold
from leyden.market.stubs import trader_pb2 as trader

log = logs.get()

# poold's words for where a ticket stands, and ours.
STATES: Mapping[str, TicketState] = {
    "created": TicketState.OFFERED,
    "offered": TicketState.OFFERED,
    "registered": TicketState.OFFERED,  # for long, and it is broken
    "ordered": TicketState.SUBMITTED,
    "expecting channel": TicketState.SUBMITTED,
    "completed": TicketState.FILLED,  # with a lease
    "canceled": TicketState.CANCELLED,
}
OVER = frozenset({"completed", "canceled"})
_LOOK_AT_BIDS_S = 15.0
_FORGOTTEN_S = 600.0  # nobody asked about a ticket for so long


class Ends:
    """Tickets that are done, or whose bid is."""

    def __init__(self, poold: Poold, account: PoolAccount, bids: Bids) -> None:
        self._poold = poold
        self._account = account
        self._bids = bids
        self._seen: dict[str, float] = {}  # when each bid was looked at, by ref

    async def of(self, tickets: Mapping[str, Any]) -> dict[str, Progress | None]:
        """Tell of tickets that are done, or whose bid is; None is not known yet.

        A poold that was away at the end of a batch leaves a ticket waiting for ever
        though its channel is there: so bids are looked at too, now and then.
        """
        over = {ref: each for ref, each in tickets.items() if each.state in OVER}
        waiting = {
            ref: each
            for ref, each in tickets.items()
            if STATES.get(each.state) is TicketState.SUBMITTED
        }
        if self._is_due(waiting.keys()):
            alive = await self._bids.states(active_only=True)
            self._seen |= dict.fromkeys(waiting, time.monotonic())
            over |= {
                ref: each
                for ref, each in waiting.items()
                if each.order_bid_nonce not in alive
            }
        return await self._how(over) if over else {}

    def _is_due(self, refs: AbstractSet[str]) -> bool:
        """Tell whether one of them was not looked at for a while.

        Each has a clock of its own: those of one call are judged by no other's look.
        One that was not met before has just been bid for.
        """
        now = time.monotonic()
        due = now - _LOOK_AT_BIDS_S
        forgotten = now - _FORGOTTEN_S
        self._seen = {ref: seen for ref, seen in self._seen.items() if seen > forgotten}
        for ref in refs - self._seen.keys():
            self._seen[ref] = due
        return any(self._seen[ref] < due for ref in refs)

    async def _how(self, tickets: Mapping[str, Any]) -> dict[str, Progress | None]:
        bids = await self._bids.states()
        states = {ref: bids.get(each.order_bid_nonce) for ref, each in tickets.items()}
        bought = await self._bought() if FILLED in states.values() else {}
        ends: dict[str, Progress | None] = {}
        for ref, ticket in tickets.items():
            nonce = ticket.order_bid_nonce.hex()
            if states[ref] == FILLED:
                ends[ref] = _filled(nonce, bought.get(nonce))
            elif states[ref] not in ALIVE:
                ends[ref] = Progress(state=TicketState.CANCELLED)
            elif STATES[ticket.state] is TicketState.CANCELLED:
                # The ticket is gone, its bid may still be matched: not over yet.
                ends[ref] = Progress(state=TicketState.BROKEN)
            else:
                ends[ref] = None
        return ends

    async def _bought(self) -> dict[str, Lease]:
        try:
            return await self._leases()
        except MarketAway as error:
            log.warning("leases cannot be looked at", why=str(error))
            return {}

    async def _leases(self) -> dict[str, Lease]:
        account = await self._account.find()
        # All of them: asked for one account's, poold divides by none.
        told = await self._poold.call("Leases", trader.LeasesRequest())
        return leases.by_nonce(told.leases, taproot=account.taproot)


def _filled(nonce: str, lease: Lease | None) -> Progress | None:
    """Take a filled bid's word only with the lease that proves it."""
    if lease is None:
        return None
    return Progress(state=TicketState.FILLED, order_nonce=nonce, lease=lease)
