"""Parsing of lnd's invoices."""

from typing import Any, Final

from leyden.domain.payments import Invoice, InvoiceState
from leyden.domain.units import Sats

MEMO: Final = "Channel order "  # by which ours are known among others
UNDECIDED: Final = {InvoiceState.OPEN, InvoiceState.ACCEPTED}

_STATES: Final = {
    "OPEN": InvoiceState.OPEN,
    "ACCEPTED": InvoiceState.ACCEPTED,
    "SETTLED": InvoiceState.SETTLED,
    "CANCELED": InvoiceState.CANCELLED,
}
_HELD: Final = "ACCEPTED"
_PAID: Final = {_HELD, "SETTLED"}


def read(payment_hash: str, told: dict[str, Any]) -> Invoice:
    """Parse lnd's invoice; the amount paid counts, not the amount requested."""
    msat = sum(
        int(each["amt_msat"]) for each in told["htlcs"] if each["state"] in _PAID
    )
    return Invoice(
        payment_hash=payment_hash,
        state=_STATES[told["state"]],
        sats=Sats(msat // 1_000),
        expires=min(
            (
                int(each["expiry_height"])
                for each in told["htlcs"]
                if each["state"] == _HELD
            ),
            default=0,
        ),
    )
