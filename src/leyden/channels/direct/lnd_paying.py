"""An lnd that pays the invoices of others.

lnd knows a payment by its hash, and pays a hash once, which is what makes each call
safe to repeat.
"""

import asyncio
import base64
from collections.abc import Mapping
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
from leyden.channels.direct.rules.wrapped import InnerInvoice, InnerPayment, PaidState
from leyden.errors import NodeRefused, SellerAway
from leyden.lnd.rest import CALL_S
from leyden.nodes.lnd.connection import LndAccess

_AMP: Final = {"30", "31"}  # feature bits
_NOT_FOUND: Final = 5  # gRPC's codes
_ALREADY_EXISTS: Final = 6
_LONGEST_WHY: Final = 200
_STATES: Final = {
    "SUCCEEDED": PaidState.SUCCEEDED,
    "FAILED": PaidState.FAILED,
}


class LndPaying:
    """Payments of one lnd."""

    def __init__(self, access: LndAccess, *, answer_s: float = CALL_S) -> None:
        self._lnd = SellerConnection(access)
        self._answer_s = answer_s  # for the first message of a stream

    async def decode(self, request: str) -> InnerInvoice | WrapRefused:
        """Decode an invoice; lnd checks its signature and its network."""
        try:
            found = await self._lnd.call("GET", f"/v1/payreq/{request}")
        except NodeRefused as error:
            return refused(error)
        created = datetime.fromtimestamp(int(found["timestamp"]), UTC)
        return InnerInvoice(
            request=request,
            payment_hash=str(found["payment_hash"]),
            payee=str(found["destination"]),
            msat=int(found["num_msat"]),
            expires=created + timedelta(seconds=int(found["expiry"])),
            delta=int(found["cltv_expiry"]),
            memo=str(found.get("description", "")),
            memo_hash=base64_of(str(found.get("description_hash", ""))),
            hints=frozenset(
                str(hop["node_id"])
                for hint in found.get("route_hints", ())
                for hop in hint["hop_hints"][-1:]
            ),
            amp=not _AMP.isdisjoint(found.get("features", ())),
        )

    async def payment(self, payment_hash: str) -> InnerPayment:
        """Ask for the payment's state, once."""
        return await self._first(payment_hash)

    async def decided(self, payment_hash: str) -> None:
        """Follow the payment: lnd is silent until it is decided."""
        await self._first(payment_hash, "?no_inflight_updates=true")

    async def close(self) -> None:
        """Close the connections."""
        await self._lnd.close()

    async def _first(self, payment_hash: str, query: str = "") -> InnerPayment:
        """Return the first of lnd's updates."""
        key = base64.urlsafe_b64encode(bytes.fromhex(payment_hash)).decode()
        updates = self._lnd.stream("GET", f"/v2/router/track/{key}{query}")
        try:
            async with asyncio.timeout(self._answer_s), aclosing(updates):
                async for update in updates:
                    return _payment(update)
        except TimeoutError:
            raise _silent() from None
        except NodeRefused as error:
            if error.code != _NOT_FOUND:
                raise refusal(error) from error
            return InnerPayment(state=PaidState.NONE)
        return InnerPayment(state=PaidState.IN_FLIGHT)

    async def _send(
        self, wish: Mapping[str, object], *, until_begun: bool = False
    ) -> WrapRefused | None:
        """Pay; return once it is decided, or with `until_begun` once lnd has begun.

        lnd goes on with a payment whose caller is gone.
        """
        try:
            updates = self._lnd.stream("POST", "/v2/router/send", wish)
            within_s = self._answer_s if until_begun else None
            async with asyncio.timeout(within_s), aclosing(updates):
                async for _ in updates:
                    if until_begun:
                        break
        except TimeoutError:
            raise _silent() from None
        except NodeRefused as error:
            if error.code == _ALREADY_EXISTS:
                return None
            check_ready(error)
            return refused(error)
        return None


def refused(error: NodeRefused) -> WrapRefused:
    """Return why lnd refused a call."""
    if is_denied(error):
        raise refusal(error) from error
    return WrapRefused(error.message[:_LONGEST_WHY])


def _silent() -> SellerAway:
    return SellerAway(why="the seller does not answer", retry_after_s=5)


def base64_of(hexadecimal: str) -> str:
    """Return hexadecimal digits in base64."""
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode()


def _payment(update: dict[str, Any]) -> InnerPayment:
    state = _STATES.get(update["status"], PaidState.IN_FLIGHT)
    succeeded = state is PaidState.SUCCEEDED
    return InnerPayment(
        state=state,
        preimage=str(update["payment_preimage"]) if succeeded else "",
        msat=int(update["value_msat"]) + int(update["fee_msat"]) if succeeded else 0,
        # lnd's reason for what has not failed is FAILURE_REASON_NONE.
        why=str(update["failure_reason"]) if state is PaidState.FAILED else "",
    )
