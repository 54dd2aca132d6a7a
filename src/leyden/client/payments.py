"""Lightning payments of a node: invoices to pay, and how their payments stand."""

import base64
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum, auto
from typing import Any, Final

import msgspec

from leyden.client.lnd import Lnd
from leyden.errors import NodeRefused

MSAT: Final = 1_000
_NOT_FOUND: Final = 5  # gRPC's code
_ANSWERS_S: Final = 30.0  # beside the time that a payment may take
_FAILURES: Final = {
    "FAILURE_REASON_TIMEOUT": "no route worked in time",
    "FAILURE_REASON_NO_ROUTE": "no route has enough balance within the fee limit",
    "FAILURE_REASON_INCORRECT_PAYMENT_DETAILS": (
        "the receiver rejected it: it does not know this invoice, or no longer"
    ),
    "FAILURE_REASON_INSUFFICIENT_BALANCE": "this node's local balance is too small",
    "FAILURE_REASON_CANCELED": "it was cancelled",
}


class PaymentState(StrEnum):
    """The state of a payment."""

    IN_FLIGHT = auto()
    SUCCEEDED = auto()
    FAILED = auto()  # all of it came back


class Payment(msgspec.Struct, kw_only=True):
    """A payment that this node sends, or has sent."""

    payment_hash: str
    state: PaymentState
    sats: int
    fee_msat: int
    preimage: str = ""  # the proof of payment, once it succeeded
    reason: str = ""  # why it failed


class DecodedInvoice(msgspec.Struct, kw_only=True):
    """What an invoice asks for."""

    invoice: str
    payment_hash: str
    destination: str
    msat: int  # 0: the payer chooses
    memo: str
    expires: datetime


def decode(lnd: Lnd, invoice: str) -> DecodedInvoice:
    """Let the node decode an invoice of its own network."""
    found = lnd.get(f"/v1/payreq/{invoice}")
    created = datetime.fromtimestamp(int(found["timestamp"]), UTC)
    return DecodedInvoice(
        invoice=invoice,
        payment_hash=found["payment_hash"],
        destination=found["destination"],
        msat=int(found["num_msat"]),
        memo=found["description"],
        expires=created + timedelta(seconds=int(found["expiry"])),
    )


def find(lnd: Lnd, payment_hash: str) -> Payment | None:
    """Return how a payment stands; None if this node never began it."""
    for payment in track(lnd, payment_hash, timeout_s=_ANSWERS_S):
        return payment
    return None


def track(lnd: Lnd, payment_hash: str, *, timeout_s: float) -> Iterator[Payment]:
    """Yield how a payment stands until it ends; nothing if it never began."""
    key = base64.urlsafe_b64encode(bytes.fromhex(payment_hash)).decode()
    updates = lnd.stream("GET", f"/v2/router/track/{key}", timeout_s=timeout_s)
    try:
        for update in updates:
            yield payment_of(update)
    except NodeRefused as refused:
        if refused.code != _NOT_FOUND:
            raise


def pay(
    lnd: Lnd,
    invoice: str,
    *,
    msat: int = 0,
    fee_limit_msat: int,
    timeout_s: int,
    channels: Sequence[str] = (),
    last_hop: str = "",
) -> Iterator[Payment]:
    """Pay an invoice; yield how the payment stands until it ends.

    `msat` is for an invoice that names no amount. lnd refuses what it has paid or is
    paying already, by the payment hash. The channels are ids, to leave through.
    """
    wish: dict[str, object] = {
        "payment_request": invoice,
        "fee_limit_msat": str(fee_limit_msat),
        "timeout_seconds": timeout_s,
    }
    if msat:
        wish["amt_msat"] = str(msat)
    if channels:
        wish["outgoing_chan_ids"] = list(channels)
    if last_hop:
        wish["last_hop_pubkey"] = base64.b64encode(bytes.fromhex(last_hop)).decode()
    updates = lnd.stream(
        "POST", "/v2/router/send", wish, timeout_s=timeout_s + _ANSWERS_S
    )
    for update in updates:
        yield payment_of(update)


def payment_of(update: dict[str, Any]) -> Payment:
    """Build a payment from lnd's."""
    state = {"SUCCEEDED": PaymentState.SUCCEEDED, "FAILED": PaymentState.FAILED}
    reason = update.get("failure_reason", "")
    is_failed = update["status"] == "FAILED"
    return Payment(
        payment_hash=update["payment_hash"],
        state=state.get(update["status"], PaymentState.IN_FLIGHT),
        sats=int(update["value_sat"]),
        fee_msat=int(update["fee_msat"]),
        preimage=update["payment_preimage"] if update["status"] == "SUCCEEDED" else "",
        reason=failure(reason) if is_failed else "",
    )


def failure(reason: str) -> str:
    """Return why a payment failed, in words."""
    return _FAILURES.get(reason, "no node on the way said why")
