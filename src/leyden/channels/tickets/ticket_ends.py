"""The ends of tickets: poold's word on a ticket is no proof of payment.

A ticket is filled once there is a lease, and cancelled once its bid cannot
be matched any more.
"""

import logging
import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from leyden.channels.rules.leases import Lease
from leyden.channels.tickets import leases
from leyden.channels.tickets.account import PoolAccount
from leyden.channels.tickets.bids import ALIVE, FILLED, Bids
from leyden.channels.tickets.poold import Poold
from leyden.channels.tickets.rules.tickets import Progress, TicketState
from leyden.channels.tickets.stubs import trader_pb2 as trader
from leyden.errors import MarketAway, MarketRefused
from leyden.values import replace

log = logging.getLogger(__name__)

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
    """Tickets that have ended, or whose bid has."""

    def __init__(self, poold: Poold, account: PoolAccount, bids: Bids) -> None:
        self._poold = poold
        self._account = account
        self._bids = bids
        self._checked_at: dict[str, float] = {}  # when each bid was looked at, by ref

    async def of(self, tickets: Mapping[str, Any]) -> dict[str, Progress | None]:
        """Return the progress of ended tickets and bids; None if not known yet.

        A poold that was down at the end of a batch leaves a ticket waiting for ever
        although its channel exists: so bids are checked now and then as well.
        """
        over = {ref: each for ref, each in tickets.items() if each.state in OVER}
        waiting = {
            ref: each
            for ref, each in tickets.items()
            if STATES.get(each.state) is TicketState.SUBMITTED
        }
        if self._is_due(waiting.keys()):
            alive = await self._bids.states(active_only=True)
            self._checked_at |= dict.fromkeys(waiting, time.monotonic())
            over |= {
                ref: each
                for ref, each in waiting.items()
                if each.order_bid_nonce not in alive
            }
        return await self._how(over) if over else {}

    def _is_due(self, refs: AbstractSet[str]) -> bool:
        """Return whether one of these tickets was not checked for a while.

        Each ticket has its own clock: a check of others does not count. A ticket
        seen for the first time has only just been bid for.
        """
        now = time.monotonic()
        due = now - _LOOK_AT_BIDS_S
        forgotten = now - _FORGOTTEN_S
        self._checked_at = {
            ref: checked_at
            for ref, checked_at in self._checked_at.items()
            if checked_at > forgotten
        }
        for ref in refs - self._checked_at.keys():
            self._checked_at[ref] = due
        return any(self._checked_at[ref] < due for ref in refs)

    async def _how(self, tickets: Mapping[str, Any]) -> dict[str, Progress | None]:
        bids = await self._bids.states()
        states = {ref: bids.get(each.order_bid_nonce) for ref, each in tickets.items()}
        filled = {ref: each for ref, each in tickets.items() if states[ref] == FILLED}
        bought = await self._bought(filled) if filled else {}
        ends: dict[str, Progress | None] = {}
        for ref, ticket in tickets.items():
            if states[ref] == FILLED:
                ends[ref] = _filled(ticket, bought.get(ref))
            elif states[ref] not in ALIVE:
                ends[ref] = Progress(state=TicketState.CANCELLED)
            elif STATES[ticket.state] is TicketState.CANCELLED:
                # The ticket is gone, its bid may still be matched: not over yet.
                ends[ref] = Progress(state=TicketState.BROKEN)
            else:
                ends[ref] = None
        return ends

    async def _bought(self, tickets: Mapping[str, Any]) -> dict[str, Lease]:
        try:
            return await self._leases(tickets)
        except MarketAway as error:
            log.warning("can't check leases", extra={"why": str(error)})
            return {}

    async def _leases(self, tickets: Mapping[str, Any]) -> dict[str, Lease]:
        """Return the leases of filled tickets, by ref."""
        taproot = await self._account.taproot()
        # All of them: asked for one account's, poold divides by none.
        response = await self._poold.call("Leases", trader.LeasesRequest())
        height = await self._height()
        by_kind = {
            kind: leases.by_nonce(response.leases, taproot=kind, height=height)
            for kind in (False, True)
        }
        found = {
            ref: by_kind[taproot.get(each.offer_sign_pubkey.hex(), True)].get(
                each.order_bid_nonce.hex()
            )
            for ref, each in tickets.items()
        }
        return {ref: lease for ref, lease in found.items() if lease is not None}

    async def _height(self) -> int:
        """Return the chain's height, 0 if poold does not tell it at once.

        poold knows the end of a lease for its own channels alone, not for this one. An
        order is filled all the same.
        """
        try:
            return await self._account.height(brief=True)
        except (MarketAway, MarketRefused) as error:
            log.warning("unknown chain height", extra={"why": str(error)})
            return 0


def _filled(ticket: Any, lease: Lease | None) -> Progress | None:
    """Return progress for a filled bid only with the lease that proves it."""
    if lease is None:
        return None
    return Progress(
        state=TicketState.FILLED,
        order_nonce=ticket.order_bid_nonce.hex(),
        lease=replace(lease, node=ticket.recipient_node_pubkey.hex()),
    )
