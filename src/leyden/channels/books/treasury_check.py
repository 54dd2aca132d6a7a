"""Compare the ledger with the treasury once a day.

`leyden verify` compares every payment. This asks about the newest orders only, those
that were paid before others, so that no number of unpaid orders hides a payment.
"""

import asyncio
import heapq
import logging
from datetime import datetime, timedelta
from typing import Final

from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.books import treasury_rules
from leyden.channels.books.broken_rules import Broken
from leyden.channels.books.verify import all_orders
from leyden.channels.rows.treasury_checks import TreasuryCheck
from leyden.channels.rules.orders import Order
from leyden.channels.services import ChannelServices
from leyden.errors import TreasuryAway

TREASURY_CHECK: Final = "treasury comparison"  # a kind of task
MAX_ORDERS: Final = 5_000  # asked about
_MAX_FINDINGS: Final = 200
_BATCH: Final = 100
_EVERY: Final = timedelta(days=1)
_AGAIN: Final = timedelta(hours=1)  # after one that could not be finished
# A payment that is booked during the comparison differs for that moment only.
_CONFIRM_AFTER_S: Final = 60.0

log = logging.getLogger(__name__)


class TreasuryComparison:
    """Compares the ledger with the treasury; differences become alarms."""

    def __init__(
        self,
        channels: ChannelServices,
        *,
        confirm_after_s: float = _CONFIRM_AFTER_S,
        limit: int = MAX_ORDERS,
    ) -> None:
        self._channels = channels
        self._confirm_after_s = confirm_after_s
        self._most = limit

    async def run(self, work: ClaimedTask) -> None:
        """Compare if a day has passed; the task never ends."""
        channels, began = self._channels, self._channels.clock()
        last = await channels.database.reader.treasury_checks.find()
        if last is not None and began < last.at + _EVERY:
            await _reschedule(work, last.at + _EVERY)
            return
        try:
            await self._compare(work, began)
        except TreasuryAway as error:
            log.warning(
                "can't compare the ledger with the treasury", extra={"why": str(error)}
            )
            await _reschedule(work, began + _AGAIN)

    async def _compare(self, work: ClaimedTask, began: datetime) -> None:
        channels = self._channels
        known = await channels.database.reader.treasury.find()
        if known is None or await channels.payments.identity() != known.pubkey:
            # Another treasury has an alarm of its own, and received no payments.
            await _reschedule(work, began + _AGAIN)
            return
        unknown: list[str] = []
        orders = await self._newest()
        suspects = await self._suspects(orders, unknown)
        if suspects:
            await asyncio.sleep(self._confirm_after_s)
        broken = await self._confirmed(suspects)
        found = [
            Finding(
                kind=AlarmKind.TREASURY_DIFFERS, subject=each.subject, what=each.where
            )
            for each in broken[:_MAX_FINDINGS]
        ]
        now = channels.clock()
        async with work.transaction() as tx:
            await tx.findings.replace(
                AlarmKind.TREASURY_DIFFERS, found, now=now, since=began
            )
            await tx.treasury_checks.save(
                TreasuryCheck(
                    at=now,
                    orders=len(orders),
                    unknown=len(unknown),
                    differences=len(broken),
                )
            )
            await work.reschedule(tx, due=now + _EVERY)
        log.info(
            "compared the ledger with the treasury",
            extra={"orders": len(orders), "differences": len(broken)},
        )

    async def _newest(self) -> list[Order]:
        """Return the newest orders that asked for a payment, paid ones first."""
        newest: list[tuple[bool, datetime, str, Order]] = []
        async for orders in all_orders(self._channels.database.reader):
            await asyncio.sleep(0)  # SQLite's reads let nobody else run
            for order in orders:
                if order.payment_request is None:
                    continue
                item = (order.paid, order.created, order.id, order)
                if len(newest) < self._most:
                    heapq.heappush(newest, item)
                else:
                    heapq.heappushpop(newest, item)
        return [order for *_, order in newest]

    async def _suspects(
        self, orders: list[Order], unknown: list[str]
    ) -> list[tuple[list[Order], list[Broken]]]:
        """Return the batches in which something differs, and what."""
        found = []
        for start in range(0, len(orders), _BATCH):
            batch = orders[start : start + _BATCH]
            if broken := await self._broken(batch, unknown):
                found.append((batch, broken))
        return found

    async def _confirmed(
        self, suspects: list[tuple[list[Order], list[Broken]]]
    ) -> list[Broken]:
        """Return what differs still."""
        return [
            each
            for batch, before in suspects
            for each in await self._broken(batch, [])
            if each in before
        ]

    async def _broken(self, orders: list[Order], unknown: list[str]) -> list[Broken]:
        return [
            each
            async for each in treasury_rules.broken_by(
                self._channels.database,
                self._channels.payments,
                orders,
                unknown=unknown,
            )
        ]


async def _reschedule(work: ClaimedTask, due: datetime) -> None:
    async with work.transaction() as tx:
        await work.reschedule(tx, due=due)
