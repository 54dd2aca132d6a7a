"""Payments through an lnd: hold invoices and on-chain addresses, and their streams.

The preimage of each invoice is derived from the order and the sum, so that
a second request returns the first invoice, and no secret has to be stored. If the
first invoice has expired by then, the second request creates another one.
"""

import asyncio
import base64
import hashlib
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import Any, Final

from leyden.base.processes import share
from leyden.base.rules.units import Sats
from leyden.channels.payments import invoices
from leyden.channels.payments.coins import Coins
from leyden.channels.payments.holdings import holdings
from leyden.channels.payments.treasury import Treasury, refusal, unknown_invoice
from leyden.channels.rules.payments import (
    Holdings,
    Invoice,
    InvoiceState,
    PaidOrder,
    PaymentRequest,
    PaymentUpdate,
)
from leyden.errors import NodeRefused, TreasuryAway
from leyden.nodes.lnd.connection import LndAccess

Preimage = Callable[[str, Sats], bytes]

_DUPLICATE = "invoice with payment hash already exists"
_NOT_FOUND = 5  # gRPC's
# The fewest blocks that a payer's time lock must have left when the payment arrives:
# more than half a day to create the ticket in, which takes us half an hour.
_CLTV_EXPIRY = 80
_LOOKUPS_AT_ONCE = 16
_MAX_TRIES = 20  # of requests for one order: its process died before it was stored
_MAX_INVOICES = 10_000
# The most streams open at once, one for each unpaid invoice, and the share of all open
# files that they may take. Payments of further invoices are found by lookups.
_MAX_FOLLOWED: Final = 1_000
_FILES_TO_FOLLOW: Final = 8


class LndPayments:
    """A treasury that is an lnd."""

    def __init__(self, access: LndAccess, *, preimage: Preimage) -> None:
        self._treasury = Treasury(access)
        self._preimage = preimage
        self._coins = Coins(self._treasury)
        self._watch: _Watch | None = None  # set while `watch` runs

    async def request(
        self, order_id: str, sats: Sats, *, lives: timedelta, with_address: bool = True
    ) -> PaymentRequest:
        """Create an invoice and an address, or return the existing invoice."""
        for preimage in self._preimages(order_id, sats):
            payment_hash = hashlib.sha256(preimage).digest()
            invoice = {
                "memo": f"{invoices.MEMO}{order_id}",
                "hash": _base64(payment_hash),
                "value": str(sats),
                "expiry": str(int(lives.total_seconds())),
                "cltv_expiry": str(_CLTV_EXPIRY),
                "private": True,
            }
            created = await self._create(payment_hash, invoice)
            if created.get("state") != invoices.CANCELLED:
                break
        address = await self._new_address() if with_address else ""
        return PaymentRequest(
            order_id=order_id,
            sats=sats,
            onchain_address=address,
            lightning_invoice=str(created["payment_request"]),
            payment_hash=payment_hash.hex(),
        )

    async def lookup(self, requests: Sequence[PaymentRequest]) -> list[PaymentUpdate]:
        """Return updates for each one's invoice and outputs."""
        turns = asyncio.Semaphore(_LOOKUPS_AT_ONCE)

        async def invoice(payment_hash: str) -> Invoice:
            async with turns:
                return await self._invoice(payment_hash)

        updated, _ = await asyncio.gather(
            asyncio.gather(*(invoice(request.payment_hash) for request in requests)),
            self._refresh(),
        )
        updates: list[PaymentUpdate] = [*updated]
        for address in {each.onchain_address for each in requests} - {""}:
            updates += self._coins.at(address)
        return updates

    async def settle(self, request: PaymentRequest) -> bool:
        """Settle a held payment."""
        preimage = self._preimage_of(request)
        try:
            await self._treasury.call(
                "POST", "/v2/invoices/settle", {"preimage": _base64(preimage)}
            )
        except NodeRefused as error:
            state = await self._state_of(request)
            if state is InvoiceState.ACCEPTED:
                raise refusal(error) from error
            return state is InvoiceState.SETTLED
        return True

    async def cancel(self, request: PaymentRequest) -> bool:
        """Cancel a held payment, or an invoice that nobody paid."""
        payment_hash = bytes.fromhex(request.payment_hash)
        try:
            await self._treasury.call(
                "POST", "/v2/invoices/cancel", {"payment_hash": _base64(payment_hash)}
            )
        except NodeRefused as error:
            state = await self._state_of(request)
            if state in invoices.UNDECIDED:
                raise refusal(error) from error
            return state is not InvoiceState.SETTLED
        return True

    async def watch(self) -> AsyncGenerator[PaymentUpdate, None]:
        """Yield invoices as they are paid, and coins at each block."""
        watch = self._watch = _Watch(self._treasury, self._coins)
        try:
            async with aclosing(watch.updates()) as updates:
                async for update in updates:
                    yield update
        finally:
            self._watch = None

    async def identity(self) -> str:
        """Return the public key of the treasury's lnd."""
        return str((await self._call("GET", "/v1/getinfo"))["identity_pubkey"])

    async def holdings(self) -> Holdings:
        """Return the treasury's balances."""
        return await holdings(self._treasury)

    async def paid_orders(self) -> list[PaidOrder]:
        """List the orders that the newest invoices were paid for."""
        path = f"/v1/invoices?reversed=true&num_max_invoices={_MAX_INVOICES}"
        response = await self._call("GET", path)
        return list(invoices.paid_orders(response["invoices"]))

    async def close(self) -> None:
        """Close the connections to the treasury."""
        await self._treasury.close()

    async def _new_address(self) -> str:
        response = await self._call("GET", "/v1/newaddress?type=WITNESS_PUBKEY_HASH")
        return str(response["address"])

    async def _refresh(self, **freshness: float) -> None:
        try:
            await self._coins.refresh(**freshness)
        except NodeRefused as error:
            raise refusal(error) from error

    async def _state_of(self, request: PaymentRequest) -> InvoiceState:
        state = (await self._invoice(request.payment_hash)).state
        if state is InvoiceState.MISSING:
            raise unknown_invoice()
        return state

    async def _invoice(self, payment_hash: str) -> Invoice:
        try:
            response = await self._treasury.call("GET", f"/v1/invoice/{payment_hash}")
        except NodeRefused as error:
            if error.code != _NOT_FOUND:
                raise refusal(error) from error
            return Invoice(payment_hash=payment_hash, state=InvoiceState.MISSING)
        invoice = invoices.read(payment_hash, response)
        if self._watch is not None and invoice.state in invoices.UNDECIDED:
            self._watch.follow(payment_hash)
        return invoice

    def _preimages(self, order_id: str, sats: Sats) -> Iterator[bytes]:
        """Yield the preimage of an order's invoice, and of those in its place."""
        yield self._preimage(order_id, sats)
        for number in range(2, _MAX_TRIES + 1):
            yield self._preimage(f"{order_id} {number}", sats)

    def _preimage_of(self, request: PaymentRequest) -> bytes:
        for preimage in self._preimages(request.order_id, request.sats):
            if hashlib.sha256(preimage).hexdigest() == request.payment_hash:
                return preimage
        raise unknown_invoice()

    async def _create(
        self, payment_hash: bytes, invoice: dict[str, Any]
    ) -> dict[str, Any]:
        """Create an invoice, or return the existing one with its state."""
        try:
            return await self._treasury.call("POST", "/v2/invoices/hodl", invoice)
        except NodeRefused as error:
            if _DUPLICATE not in error.message:
                raise refusal(error) from error
        return await self._call("GET", f"/v1/invoice/{payment_hash.hex()}")

    async def _call(self, method: str, path: str) -> dict[str, Any]:
        try:
            return await self._treasury.call(method, path)
        except NodeRefused as error:
            raise refusal(error) from error


class _Watch:
    """The subscriptions to one lnd, until it is unreachable."""

    def __init__(self, treasury: Treasury, coins: Coins) -> None:
        self._treasury = treasury
        self._coins = coins
        self._reported_to = 0  # the block up to which coins were reported
        self._updates: asyncio.Queue[PaymentUpdate | Exception] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._followed: set[str] = set()
        self._most_followed = share(_FILES_TO_FOLLOW, enough=_MAX_FOLLOWED)

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


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
