"""Paid through an lnd: hold invoices for Lightning, addresses of its wallet for coins.

The preimage of each invoice is drawn from the order and the sum, so that asking twice
finds the invoice of the first time, and nothing secret has to be kept.
"""

import asyncio
import base64
import hashlib
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from datetime import timedelta
from typing import Any

from leyden import logs
from leyden.domain.payments import (
    Holdings,
    Invoice,
    InvoiceState,
    PaymentRequest,
    Sighting,
)
from leyden.domain.units import Sats
from leyden.errors import NodeRefused, TreasuryAway
from leyden.payments.coins import Coins
from leyden.payments.holdings import holdings
from leyden.payments.treasury import Access, Treasury, refused, unknown
from leyden.processes import share

log = logs.get()

Preimage = Callable[[str, Sats], bytes]
_Step = Callable[[], Coroutine[Any, Any, None]]

_STATES = {
    "OPEN": InvoiceState.OPEN,
    "ACCEPTED": InvoiceState.ACCEPTED,
    "SETTLED": InvoiceState.SETTLED,
    "CANCELED": InvoiceState.CANCELLED,
}
_PAID = {"ACCEPTED", "SETTLED"}
_UNDECIDED = {InvoiceState.OPEN, InvoiceState.ACCEPTED}
_MEMO = "Channel order "
_DUPLICATE = "invoice with payment hash already exists"
_NOT_FOUND = 5  # gRPC's
# Blocks that a payer's lock must at least have left when it arrives: half a day and
# more to make the ticket in, of which we take half an hour.
_CLTV_EXPIRY = 80
_LOOKUPS_AT_ONCE = 16
# Streams that are held open at once, one for each unpaid invoice, and one in so many of
# all files; what is beyond that is found by looking.
_MOST_FOLLOWED = 1_000
_FILES_TO_FOLLOW = 8


class LndPayments:
    """A treasury that is an lnd."""

    def __init__(self, access: Access, *, preimage: Preimage) -> None:
        self._treasury = Treasury(access)
        self._preimage = preimage
        self._coins = Coins(self._treasury)
        self._follow: Callable[[str], None] | None = None  # while somebody watches

    async def request(
        self, order_id: str, sats: Sats, *, lives: timedelta
    ) -> PaymentRequest:
        """Make an invoice and an address, or find the invoice that was made."""
        payment_hash = hashlib.sha256(self._preimage(order_id, sats)).digest()
        invoice = {
            "memo": f"{_MEMO}{order_id}",
            "hash": _base64(payment_hash),
            "value": str(sats),
            "expiry": str(int(lives.total_seconds())),
            "cltv_expiry": str(_CLTV_EXPIRY),
            "private": True,
        }
        try:
            made = await self._treasury.call("POST", "/v2/invoices/hodl", invoice)
        except NodeRefused as error:
            if _DUPLICATE not in error.message:
                raise refused(error) from error
            made = await self._found(payment_hash.hex())
        address = await self._plainly("GET", "/v1/newaddress?type=WITNESS_PUBKEY_HASH")
        return PaymentRequest(
            order_id=order_id,
            sats=sats,
            onchain_address=str(address["address"]),
            lightning_invoice=str(made["payment_request"]),
            payment_hash=payment_hash.hex(),
        )

    async def look(self, requests: Sequence[PaymentRequest]) -> list[Sighting]:
        """Tell of each one's invoice and outputs."""
        turns = asyncio.Semaphore(_LOOKUPS_AT_ONCE)

        async def invoice(payment_hash: str) -> Invoice:
            async with turns:
                return await self._invoice(payment_hash)

        invoices, _ = await asyncio.gather(
            asyncio.gather(*(invoice(each.payment_hash) for each in requests)),
            self._refresh(),
        )
        found: list[Sighting] = [*invoices]
        for each in requests:
            found += self._coins.at(each.onchain_address)
        return found

    async def settle(self, request: PaymentRequest) -> bool:
        """Take what is held."""
        preimage = self._preimage(request.order_id, request.sats)
        try:
            await self._treasury.call(
                "POST", "/v2/invoices/settle", {"preimage": _base64(preimage)}
            )
        except NodeRefused as error:
            state = await self._state_of(request)
            if state is InvoiceState.ACCEPTED:
                raise refused(error) from error
            return state is InvoiceState.SETTLED
        return True

    async def cancel(self, request: PaymentRequest) -> bool:
        """Hand back what is held, or close what nobody paid."""
        payment_hash = bytes.fromhex(request.payment_hash)
        try:
            await self._treasury.call(
                "POST", "/v2/invoices/cancel", {"payment_hash": _base64(payment_hash)}
            )
        except NodeRefused as error:
            state = await self._state_of(request)
            if state in _UNDECIDED:
                raise refused(error) from error
            return state is not InvoiceState.SETTLED
        return True

    async def watch(self) -> AsyncGenerator[Sighting, None]:
        """Tell of invoices as they are paid, and of coins at each block."""
        news: asyncio.Queue[Sighting | Exception] = asyncio.Queue()
        tasks: set[asyncio.Task[None]] = set()
        followed: set[str] = set()
        most_followed = share(_FILES_TO_FOLLOW, enough=_MOST_FOLLOWED)

        def start(step: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
            task = asyncio.create_task(_telling_why(step, news))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            return task

        def follow(payment_hash: str) -> None:
            if payment_hash in followed or len(followed) >= most_followed:
                return
            followed.add(payment_hash)
            task = start(self._one_invoice(payment_hash, news))
            task.add_done_callback(lambda _: followed.discard(payment_hash))

        told_to = 0

        async def tell_coins() -> None:
            nonlocal told_to
            await self._refresh(at_most_s=0)
            # From where we were, not from the tip: it may have gone far meanwhile.
            for output in self._coins.since(told_to):
                news.put_nowait(output)
            told_to = self._coins.tip

        self._follow = follow
        start(self._new_invoices(follow))
        start(tell_coins())
        start(self._blocks(tell_coins))
        start(self._transactions(tell_coins))
        try:
            while True:
                told = await news.get()
                if isinstance(told, Exception):
                    raise told
                yield told
        finally:
            self._follow = None
            for task in tasks:
                task.cancel()

    async def identity(self) -> str:
        """Say who it is: the public key of its lnd."""
        return str((await self._plainly("GET", "/v1/getinfo"))["identity_pubkey"])

    async def holds(self) -> Holdings:
        """Tell what is in it."""
        return await holdings(self._treasury)

    async def close(self) -> None:
        """Let go of the treasury."""
        await self._treasury.close()

    async def _new_invoices(self, follow: Callable[[str], None]) -> None:
        async for told in self._treasury.stream("GET", "/v1/invoices/subscribe"):
            if told["state"] == "OPEN" and told["memo"].startswith(_MEMO):
                follow(base64.b64decode(told["r_hash"]).hex())
        raise TreasuryAway

    async def _one_invoice(
        self, payment_hash: str, news: "asyncio.Queue[Sighting | Exception]"
    ) -> None:
        path = base64.urlsafe_b64encode(bytes.fromhex(payment_hash)).decode()
        async for told in self._treasury.stream(
            "GET", f"/v2/invoices/subscribe/{path}"
        ):
            invoice = _invoice(payment_hash, told)
            if invoice.state is not InvoiceState.OPEN:
                news.put_nowait(invoice)
            if invoice.state not in _UNDECIDED:
                return
        raise TreasuryAway

    async def _blocks(self, tell_coins: _Step) -> None:
        blocks = self._treasury.stream("POST", "/v2/chainnotifier/register/blocks", {})
        async for _ in blocks:
            await tell_coins()
        raise TreasuryAway

    async def _transactions(self, tell_coins: _Step) -> None:
        async for _ in self._treasury.stream("GET", "/v1/transactions/subscribe"):
            await tell_coins()
        raise TreasuryAway

    async def _refresh(self, **freshness: float) -> None:
        try:
            await self._coins.refresh(**freshness)
        except NodeRefused as error:
            raise refused(error) from error

    async def _state_of(self, request: PaymentRequest) -> InvoiceState:
        state = (await self._invoice(request.payment_hash)).state
        if state is InvoiceState.MISSING:
            raise unknown()
        return state

    async def _invoice(self, payment_hash: str) -> Invoice:
        try:
            told = await self._treasury.call("GET", f"/v1/invoice/{payment_hash}")
        except NodeRefused as error:
            if error.code != _NOT_FOUND:
                raise refused(error) from error
            return Invoice(payment_hash=payment_hash, state=InvoiceState.MISSING)
        invoice = _invoice(payment_hash, told)
        if self._follow is not None and invoice.state in _UNDECIDED:
            self._follow(payment_hash)
        return invoice

    async def _found(self, payment_hash: str) -> dict[str, Any]:
        return await self._plainly("GET", f"/v1/invoice/{payment_hash}")

    async def _plainly(self, method: str, path: str) -> dict[str, Any]:
        try:
            return await self._treasury.call(method, path)
        except NodeRefused as error:
            raise refused(error) from error


async def _telling_why(
    step: Coroutine[Any, Any, None], news: "asyncio.Queue[Sighting | Exception]"
) -> None:
    try:
        await step
    except Exception as error:  # noqa: BLE001  raised again by whoever watches
        news.put_nowait(error)


def _invoice(payment_hash: str, told: dict[str, Any]) -> Invoice:
    msat = sum(
        int(each["amt_msat"]) for each in told["htlcs"] if each["state"] in _PAID
    )
    return Invoice(
        payment_hash=payment_hash,
        state=_STATES[told["state"]],
        sats=Sats(msat // 1_000),
    )


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
