"""The purse's lnd as it wraps invoices: hold invoices, and payments over one channel.

lnd knows a payment and an invoice by the payment hash, which is what makes each call
safe to repeat: it pays nothing twice, and has one invoice for each hash.
"""

import base64
import hashlib
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from leyden.channels.direct.base import WrapRefused
from leyden.channels.direct.connection import (
    SellerConnection,
    check_ready,
    is_denied,
    refusal,
)
from leyden.channels.direct.rules.jit import JitChannel
from leyden.channels.direct.rules.wrapped import (
    HoldInvoice,
    InnerInvoice,
    InnerPayment,
    PaidState,
)
from leyden.channels.payments import invoices
from leyden.channels.rules.payments import InvoiceState
from leyden.errors import NodeRefused
from leyden.nodes.lnd.connection import LndAccess

_DUPLICATE: Final = "already exists"
_AMP: Final = {"30", "31"}  # feature bits
_NOT_FOUND: Final = 5  # gRPC's codes
_ALREADY_EXISTS: Final = 6
_PENDING: Final = "/v1/invoices?pending_only=true&reversed=true&num_max_invoices=1000"
# How long lnd looks for a route: there is only one.
_TRIES_S: Final = 20
_LONGEST_WHY: Final = 200
_STATES: Final = {
    "SUCCEEDED": PaidState.SUCCEEDED,
    "FAILED": PaidState.FAILED,
}


class LndWrapping:
    """Invoices and payments of one lnd."""

    def __init__(self, access: LndAccess) -> None:
        self._lnd = SellerConnection(access)

    async def decode(self, request: str) -> InnerInvoice | WrapRefused:
        """Decode an invoice; lnd checks its signature and its network."""
        try:
            found = await self._lnd.call("GET", f"/v1/payreq/{request}")
        except NodeRefused as error:
            return _refused(error)
        created = datetime.fromtimestamp(int(found["timestamp"]), UTC)
        return InnerInvoice(
            request=request,
            payment_hash=str(found["payment_hash"]),
            payee=str(found["destination"]),
            msat=int(found["num_msat"]),
            expires=created + timedelta(seconds=int(found["expiry"])),
            delta=int(found["cltv_expiry"]),
            memo=str(found.get("description", "")),
            memo_hash=_base64(str(found.get("description_hash", ""))),
            hints=frozenset(
                str(hop["node_id"])
                for hint in found.get("route_hints", ())
                for hop in hint["hop_hints"][-1:]
            ),
            amp=not _AMP.isdisjoint(found.get("features", ())),
        )

    async def hold(
        self, inner: InnerInvoice, *, msat: int, lives_s: int, delta: int
    ) -> HoldInvoice | WrapRefused:
        """Create a hold invoice, or return the one that was created before."""
        invoice: dict[str, object] = {
            "hash": _base64(inner.payment_hash),
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
                return _refused(error)
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
                "POST", "/v2/invoices/settle", {"preimage": _base64(preimage)}
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
                {"payment_hash": _base64(payment_hash)},
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
        try:
            updates = self._lnd.stream("POST", "/v2/router/send", wish)
            async with aclosing(updates):
                async for _ in updates:
                    pass
        except NodeRefused as error:
            if error.code == _ALREADY_EXISTS:
                return None
            check_ready(error)
            return _refused(error)
        return None

    async def payment(self, payment_hash: str) -> InnerPayment:
        """Ask for the payment's state, once."""
        return await self._first(payment_hash)

    async def decided(self, payment_hash: str) -> None:
        """Follow the payment: lnd is silent until it is decided."""
        await self._first(payment_hash, "?no_inflight_updates=true")

    async def _first(self, payment_hash: str, query: str = "") -> InnerPayment:
        """Return the first of lnd's updates."""
        key = base64.urlsafe_b64encode(bytes.fromhex(payment_hash)).decode()
        updates = self._lnd.stream("GET", f"/v2/router/track/{key}{query}")
        try:
            async with aclosing(updates):
                async for update in updates:
                    return _payment(update)
        except NodeRefused as error:
            if error.code != _NOT_FOUND:
                raise refusal(error) from error
            return InnerPayment(state=PaidState.NONE)
        return InnerPayment(state=PaidState.IN_FLIGHT)

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

    async def close(self) -> None:
        """Close the connections."""
        await self._lnd.close()


def _invoice_path(payment_hash: str) -> str:
    return f"/v1/invoice/{payment_hash}"


def _refused(error: NodeRefused) -> WrapRefused:
    if is_denied(error):
        raise refusal(error) from error
    return WrapRefused(error.message[:_LONGEST_WHY])


def _invoice(found: dict[str, Any]) -> HoldInvoice:
    held = [each for each in found["htlcs"] if each["state"] in {"ACCEPTED", "SETTLED"}]
    return HoldInvoice(
        state=invoices.STATES[found["state"]],
        request=str(found["payment_request"]),
        msat=sum(int(each["amt_msat"]) for each in held),
        expires=min((int(each["expiry_height"]) for each in held), default=0),
    )


def _payment(update: dict[str, Any]) -> InnerPayment:
    state = _STATES.get(update["status"], PaidState.IN_FLIGHT)
    succeeded = state is PaidState.SUCCEEDED
    return InnerPayment(
        state=state,
        preimage=str(update["payment_preimage"]) if succeeded else "",
        msat=int(update["value_msat"]) + int(update["fee_msat"]) if succeeded else 0,
        why=str(update.get("failure_reason", "")),
    )


def _hash_of(preimage: str) -> str:
    return hashlib.sha256(bytes.fromhex(preimage)).hexdigest()


def _base64(hexadecimal: str) -> str:
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode()
