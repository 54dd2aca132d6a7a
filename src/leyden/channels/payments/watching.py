"""Streams of an lnd: invoices as they are paid, coins at each block."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, Final

from leyden.base.processes import share
from leyden.channels.payments import invoices
from leyden.channels.payments.coins import Coins
from leyden.channels.payments.treasury import Treasury, refusal
from leyden.channels.rules.payments import InvoiceState, PaymentUpdate
from leyden.errors import NodeRefused, TreasuryAway

# The most streams open at once, one for each unpaid invoice, and the share of all open
# files that they may take. Payments of further invoices are found by lookups.
_MOST_FOLLOWED: Final = 1_000
_FILES_TO_FOLLOW: Final = 8


class Watch:
    """The subscriptions to one lnd, until it is unreachable."""

    def __init__(self, treasury: Treasury, coins: Coins) -> None:
        self._treasury = treasury
        self._coins = coins
        self._reported_to = 0  # the block up to which coins were reported
        self._updates: asyncio.Queue[PaymentUpdate | Exception] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._followed: set[str] = set()
        self._most_followed = share(_FILES_TO_FOLLOW, enough=_MOST_FOLLOWED)

    async def updates(self) -> AsyncGenerator[PaymentUpdate, None]:
        """Yield all updates until the treasury is unreachable."""
        self._start(self._new_invoices())
        self._start(self._report_coins())
        self._start(self._blocks())
        self._start(self._transactions())
        try:
            while True:
                update = await self._updates.get()
                if isinstance(update, Exception):
                    raise update
                yield update
        finally:
            for task in self._tasks:
                task.cancel()

    def follow(self, payment_hash: str) -> None:
        """Watch this invoice, too."""
        if payment_hash in self._followed or len(self._followed) >= self._most_followed:
            return
        self._followed.add(payment_hash)
        task = self._start(self._one_invoice(payment_hash))
        task.add_done_callback(lambda _: self._followed.discard(payment_hash))

    def _start(self, step: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(self._reporting_errors(step))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _reporting_errors(self, step: Coroutine[Any, Any, None]) -> None:
        try:
            await step
        except Exception as error:  # noqa: BLE001  raised again at the listener
            self._updates.put_nowait(error)

    async def _new_invoices(self) -> None:
        stream = self._treasury.stream("GET", "/v1/invoices/subscribe")
        async with aclosing(stream):
            async for message in stream:
                if message["state"] == "OPEN" and message["memo"].startswith(
                    invoices.MEMO
                ):
                    self.follow(base64.b64decode(message["r_hash"]).hex())
        raise TreasuryAway

    async def _one_invoice(self, payment_hash: str) -> None:
        path = base64.urlsafe_b64encode(bytes.fromhex(payment_hash)).decode()
        stream = self._treasury.stream("GET", f"/v2/invoices/subscribe/{path}")
        async with aclosing(stream):
            async for message in stream:
                invoice = invoices.read(payment_hash, message)
                if invoice.state is not InvoiceState.OPEN:
                    self._updates.put_nowait(invoice)
                if invoice.state not in invoices.UNDECIDED:
                    return
        raise TreasuryAway

    async def _blocks(self) -> None:
        await self._report_coins_at_each(
            "POST", "/v2/chainnotifier/register/blocks", {}
        )

    async def _transactions(self) -> None:
        await self._report_coins_at_each("GET", "/v1/transactions/subscribe")

    async def _report_coins_at_each(self, *call: Any) -> None:
        stream = self._treasury.stream(*call)
        async with aclosing(stream):
            async for _ in stream:
                await self._report_coins()
        raise TreasuryAway

    async def _report_coins(self) -> None:
        try:
            await self._coins.refresh(at_most_s=0)
        except NodeRefused as error:
            raise refusal(error) from error
        # Since the last report, not since the tip: it may have advanced far meanwhile.
        for output in self._coins.since(self._reported_to):
            self._updates.put_nowait(output)
        self._reported_to = self._coins.tip
