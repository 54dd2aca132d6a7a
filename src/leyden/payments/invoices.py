"""What lnd says of an invoice, in our words."""

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
_PAID: Final = {"ACCEPTED", "SETTLED"}


def read(payment_hash: str, told: dict[str, Any]) -> Invoice:
    """Read what lnd tells; what its payer sent counts, not what was asked for."""
    msat = sum(
        int(each["amt_msat"]) for each in told["htlcs"] if each["state"] in _PAID
    )
    return Invoice(
        payment_hash=payment_hash,
        state=_STATES[told["state"]],
        sats=Sats(msat // 1_000),
    )
