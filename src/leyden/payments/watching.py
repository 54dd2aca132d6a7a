"""Streams of an lnd: invoices as they are paid, coins at each block."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, Final

from leyden.domain.payments import InvoiceState, PaymentUpdate
from leyden.errors import NodeRefused, TreasuryAway
from leyden.payments import invoices
from leyden.payments.coins import Coins
from leyden.payments.treasury import Treasury, refusal
from leyden.processes import share

# Streams that are held open at once, one for each unpaid invoice, and one in so many of
# all files; what is beyond that is found by looking.
_MOST_FOLLOWED: Final = 1_000
_FILES_TO_FOLLOW: Final = 8


class Watch:
    """The streams of one lnd, from subscribing to the end."""

    def __init__(self, treasury: Treasury, coins: Coins) -> None:
        self._treasury = treasury
        self._coins = coins
        self._told_to = 0  # the block up to which coins were told of
        self._news: asyncio.Queue[PaymentUpdate | Exception] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._followed: set[str] = set()
        self._most_followed = share(_FILES_TO_FOLLOW, enough=_MOST_FOLLOWED)

    async def updates(self) -> AsyncGenerator[PaymentUpdate, None]:
        """Yield all updates until the treasury is unreachable."""
        self._start(self._new_invoices())
        self._start(self._tell_coins())
        self._start(self._blocks())
        self._start(self._transactions())
        try:
            while True:
                told = await self._news.get()
                if isinstance(told, Exception):
                    raise told
                yield told
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
        task = asyncio.create_task(self._telling_why(step))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _telling_why(self, step: Coroutine[Any, Any, None]) -> None:
        try:
            await step
        except Exception as error:  # noqa: BLE001  raised again by whoever listens
            self._news.put_nowait(error)

    async def _new_invoices(self) -> None:
        stream = self._treasury.stream("GET", "/v1/invoices/subscribe")
        async with aclosing(stream):
            async for told in stream:
                if told["state"] == "OPEN" and told["memo"].startswith(invoices.MEMO):
                    self.follow(base64.b64decode(told["r_hash"]).hex())
        raise TreasuryAway

    async def _one_invoice(self, payment_hash: str) -> None:
        path = base64.urlsafe_b64encode(bytes.fromhex(payment_hash)).decode()
        stream = self._treasury.stream("GET", f"/v2/invoices/subscribe/{path}")
        async with aclosing(stream):
            async for told in stream:
                invoice = invoices.read(payment_hash, told)
                if invoice.state is not InvoiceState.OPEN:
                    self._news.put_nowait(invoice)
                if invoice.state not in invoices.UNDECIDED:
                    return
        raise TreasuryAway

    async def _blocks(self) -> None:
        await self._tell_coins_at_each("POST", "/v2/chainnotifier/register/blocks", {})

    async def _transactions(self) -> None:
        await self._tell_coins_at_each("GET", "/v1/transactions/subscribe")

    async def _tell_coins_at_each(self, *call: Any) -> None:
        stream = self._treasury.stream(*call)
        async with aclosing(stream):
            async for _ in stream:
                await self._tell_coins()
        raise TreasuryAway

    async def _tell_coins(self) -> None:
        try:
            await self._coins.refresh(at_most_s=0)
        except NodeRefused as error:
            raise refusal(error) from error
        # From where we were, not from the tip: it may have gone far meanwhile.
        for output in self._coins.since(self._told_to):
            self._news.put_nowait(output)
        self._told_to = self._coins.tip
