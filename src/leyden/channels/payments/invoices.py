"""Parsing of lnd's invoices."""

import base64
from collections.abc import Iterable, Iterator
from typing import Any, Final

from leyden.base.rules.units import Sats
from leyden.channels.rules.payments import Invoice, InvoiceState, PaidOrder

MEMO: Final = "Channel order "  # by which ours are known among others
CANCELLED: Final = "CANCELED"  # or expired
UNDECIDED: Final = {InvoiceState.OPEN, InvoiceState.ACCEPTED}

STATES: Final = {
    "OPEN": InvoiceState.OPEN,
    "ACCEPTED": InvoiceState.ACCEPTED,
    "SETTLED": InvoiceState.SETTLED,
    CANCELLED: InvoiceState.CANCELLED,
}
_HELD: Final = "ACCEPTED"
_PAID: Final = {_HELD, "SETTLED"}


def paid_orders(invoices: Iterable[dict[str, Any]]) -> Iterator[PaidOrder]:
    """Yield the orders that lnd's invoices were paid for."""
    for each in invoices:
        if each["state"] in _PAID and each["memo"].startswith(MEMO):
            payment_hash = base64.b64decode(each["r_hash"]).hex()
            invoice = read(payment_hash, each)
            yield PaidOrder(
                order_id=each["memo"].removeprefix(MEMO),
                payment_hash=payment_hash,
                state=invoice.state,
                sats=invoice.sats,
            )


def read(payment_hash: str, invoice: dict[str, Any]) -> Invoice:
    """Parse lnd's invoice; the amount paid counts, not the amount requested."""
    msat = sum(
        int(each["amt_msat"]) for each in invoice["htlcs"] if each["state"] in _PAID
    )
    return Invoice(
        payment_hash=payment_hash,
        state=STATES[invoice["state"]],
        sats=Sats(msat // 1_000),
        expires=min(
            (
                int(each["expiry_height"])
                for each in invoice["htlcs"]
                if each["state"] == _HELD
            ),
            default=0,
        ),
    )
