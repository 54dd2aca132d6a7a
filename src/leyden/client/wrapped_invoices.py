"""Invoices whose payment opens a channel to the node that is paid."""

from leyden.client.calls import Calls
from leyden.schemas.wrapped import WrappedAnswer, WrappingFee, WrappingInfo


class WrappedInvoices:
    """The sale of just-in-time channels to anybody's node."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def info(self) -> WrappingInfo:
        """Return the node that opens channels, for yours to connect to."""
        return self._calls.get("/api/v1/info", WrappingInfo)

    def fee(self, amount_msat: int, pubkey: str) -> WrappingFee:
        """Return the fee for a payment of this amount to a node."""
        body = {"amount_msat": amount_msat, "pubkey": pubkey}
        return self._calls.post("/api/v1/fee", WrappingFee, body)

    def propose(self, bolt11: str, fee_id: str) -> WrappedAnswer:
        """Return an invoice with the payment hash of yours, for the fee more."""
        body = {"bolt11": bolt11, "fee_id": fee_id}
        return self._calls.post("/api/v1/proposal", WrappedAnswer, body)
