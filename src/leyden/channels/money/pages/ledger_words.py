"""Words for a customer's transactions."""

from collections.abc import Mapping

from leyden.channels.rules.customer_ledger import OUTSIDE, Kind

KINDS: Mapping[Kind, str] = {
    Kind.COUPON: "Coupon",
    Kind.CORRECTION: "Adjustment",
    Kind.PAYMENT: "Payment",
    Kind.HANDED_BACK: "Payment returned",
    Kind.SURPLUS: "Overpayment",
    Kind.LATE: "Late payment",
    Kind.CREDIT_USED: "Credit used",
    Kind.CHARGED: "Charged to account",
    Kind.FILLED: "Channel bought",
    Kind.UNUSED_FEE: "Unused fee",
    Kind.UNDONE: "Channel lost",
    Kind.RELEASED: "Order ended",
    Kind.REVERSED: "Payment reversed",
    Kind.REFUND: "Refund",
}
PLACES: Mapping[str, str] = {
    "credit": "Credit",
    "held": "Reserved",
    "owed": "Account debt",
    "receivable": "Reversed payments",
    OUTSIDE: "–",  # noqa: RUF001  a dash, not a hyphen
}
