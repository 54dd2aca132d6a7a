"""Wrapped invoices, as Voltage's Flow 2.0 has them."""

import msgspec


class ConnectionMethod(msgspec.Struct):
    """Where the node that opens channels is."""

    address: str
    port: int
    type: str


class WrappingInfo(msgspec.Struct):
    """The node that opens channels."""

    connection_methods: list[ConnectionMethod]
    pubkey: str


class WrappingFee(msgspec.Struct):
    """The fee of a payment, and the promise of it."""

    fee_amount_msat: int
    id: str


class WrappedAnswer(msgspec.Struct):
    """The invoice for whoever pays."""

    jit_bolt11: str
