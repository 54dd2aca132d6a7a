"""The purse's lnd as it wraps invoices: hold invoices, and payments over one channel.

lnd knows a payment and an invoice by the payment hash, which is what makes each call
safe to repeat: it pays nothing twice, and has one invoice for each hash.
"""

import base64
import hashlib
from typing import Any, Final

from leyden.channels.direct.base import WrapRefused
from leyden.channels.direct.connection import refusal
from leyden.channels.direct.lnd_paying import LndPaying, base64_of, refused
from leyden.channels.direct.rules.jit import JitChannel
from leyden.channels.direct.rules.wrapped import HoldInvoice, InnerInvoice
from leyden.channels.payments import invoices
from leyden.channels.rules.payments import InvoiceState
from leyden.errors import NodeRefused

_DUPLICATE: Final = "already exists"
_NOT_FOUND: Final = 5  # gRPC's
_PENDING: Final = "/v1/invoices?pending_only=true&reversed=true&num_max_invoices=1000"
# How long lnd looks for a route: there is only one.
_TRIES_S: Final = 20


class LndWrapping(LndPaying):
    """Invoices and payments of one lnd."""

    async def hold(
        self, inner: InnerInvoice, *, msat: int, lives_s: int, delta: int
    ) -> HoldInvoice | WrapRefused:
        """Create a hold invoice, or return the one that was created before."""
        invoice: dict[str, object] = {
            "hash": base64_of(inner.payment_hash),
            "value_msat": str(msat),
            "expiry": str(lives_s),
            "cltv_expiry": str(delta),
        }
        if inner.memo_hash:
            invoice["description_hash"] = inner.memo_hash
        else:
            invoice["memo"] = inner.memo
        try:
            created = await self._lnd.call("POST", "/v2/invoices/hodl", invoice)
        except NodeRefused as error:
            if _DUPLICATE not in error.message:
                return refused(error)
            found = await self._lnd.call_or_away(
                "GET", _invoice_path(inner.payment_hash)
            )
            if int(found["value_msat"]) != msat or found["state"] != "OPEN":
                return WrapRefused("an invoice with this payment hash already exists")
            return _invoice(found)
        return HoldInvoice(
            state=InvoiceState.OPEN, request=str(created["payment_request"])
        )

    async def pending(self) -> dict[str, HoldInvoice]:
        """List the newest thousand."""
        response = await self._lnd.call_or_away("GET", _PENDING)
        return {
            base64.b64decode(each["r_hash"]).hex(): _invoice(each)
            for each in response["invoices"]
        }

    async def find(self, payment_hash: str) -> HoldInvoice:
        """Look up an invoice."""
        try:
            return _invoice(await self._lnd.call("GET", _invoice_path(payment_hash)))
        except NodeRefused as error:
            if error.code != _NOT_FOUND:
                raise refusal(error) from error
            return HoldInvoice(state=InvoiceState.MISSING)

    async def settle(self, preimage: str) -> bool:
        """Settle a held payment; what lnd refuses is looked up."""
        payment_hash = _hash_of(preimage)
        try:
            await self._lnd.call(
                "POST", "/v2/invoices/settle", {"preimage": base64_of(preimage)}
            )
        except NodeRefused as error:
            state = (await self.find(payment_hash)).state
            if state in invoices.UNDECIDED:
                raise refusal(error) from error
            return state is InvoiceState.SETTLED
        return True

    async def cancel(self, payment_hash: str) -> bool:
        """Cancel an invoice; what lnd refuses is looked up."""
        try:
            await self._lnd.call(
                "POST",
                "/v2/invoices/cancel",
                {"payment_hash": base64_of(payment_hash)},
            )
        except NodeRefused as error:
            state = (await self.find(payment_hash)).state
            if state in invoices.UNDECIDED:
                raise refusal(error) from error
            return state is not InvoiceState.SETTLED
        return True

    async def pay(
        self, request: str, channel: JitChannel, *, cltv_limit: int
    ) -> WrapRefused | None:
        """Pay over this channel alone; a fee limit of 0 leaves no other hop."""
        wish = {
            "payment_request": request,
            "outgoing_chan_ids": [str(channel.scid)],
            "fee_limit_msat": "0",
            "cltv_limit": cltv_limit,
            "max_parts": 1,
            "timeout_seconds": _TRIES_S,
            "no_inflight_updates": True,
        }
        return await self._send(wish)

    async def receivable_msat(self, peer: str) -> int:
        """Return the most, not the sum: a payment takes one channel."""
        response = await self._lnd.call_or_away("GET", "/v1/channels?active_only=true")
        free = [
            int(each["local_balance"])
            - int(each["local_constraints"]["chan_reserve_sat"])
            - int(each["commit_fee"])
            for each in response["channels"]
            if each["remote_pubkey"] == peer
        ]
        return max(free, default=0) * 1_000


def _invoice_path(payment_hash: str) -> str:
    return f"/v1/invoice/{payment_hash}"


def _invoice(found: dict[str, Any]) -> HoldInvoice:
    held = [each for each in found["htlcs"] if each["state"] in {"ACCEPTED", "SETTLED"}]
    return HoldInvoice(
        state=invoices.STATES[found["state"]],
        request=str(found["payment_request"]),
        msat=sum(int(each["amt_msat"]) for each in held),
        expires=min((int(each["expiry_height"]) for each in held), default=0),
    )


def _hash_of(preimage: str) -> str:
    return hashlib.sha256(bytes.fromhex(preimage)).hexdigest()
