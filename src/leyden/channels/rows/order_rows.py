"""The columns of orders: where each field of an order is stored, and how.

The statements that write and read orders are made of these (`orders.py`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from leyden.base.database.statements import Row, Value
from leyden.base.rules.times import from_us, to_us
from leyden.channels.rules.orders import Order, OrderChanges, OrderStatus
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.rules.pricing import Channel, NodeTier, Quote
from leyden.values import Struct


class _Column(NamedTuple):
    """How a field is stored: None means as it is."""

    store: Callable[[Any], Value] | None = None
    load: Callable[[Any], Any] | None = None
    name: str = ""  # of the column, if it is not the field's


_Columns = Mapping[str, _Column]


def _or_null(
    store: Callable[[Any], Value], load: Callable[[Any], Any], name: str = ""
) -> _Column:
    """Return the column of a field that may be None."""
    return _Column(
        lambda value: None if value is None else store(value),
        lambda value: None if value is None else load(value),
        name,
    )


_PLAIN: Final = _Column()
_FLAG: Final = _Column(int, bool)
_TIME: Final = _Column(to_us, from_us)
_NULL_IF_EMPTY: Final = _Column(lambda text: text or None, lambda text: text or "")

_ORDER: Final[_Columns] = {
    "id": _PLAIN,
    "organization_id": _PLAIN,
    "status": _Column(str, OrderStatus),
    "created": _TIME,
    "expires": _TIME,
    "credit_used": _PLAIN,
    "charged": _PLAIN,
    "credit_refund": _PLAIN,
    "paid_at": _or_null(to_us, from_us),
    "onchain_address": _NULL_IF_EMPTY,
    "lightning_invoice": _NULL_IF_EMPTY,
    "payment_hash": _NULL_IF_EMPTY,
    "invoice": _or_null(str, InvoiceState, "invoice_state"),
    "htlc_sats": _Column(name="accepted"),
    "offered": _FLAG,
    "sealed_ticket": _PLAIN,
    "ticket_ref": _NULL_IF_EMPTY,
    "order_nonce": _PLAIN,
    "htlc_expires": _PLAIN,
    "channel_point": _PLAIN,
}
_QUOTE: Final[_Columns] = {
    "rate_bps": _PLAIN,
    "rate_fixed": _PLAIN,
    "service_fee": _PLAIN,
    "pool_fee": _PLAIN,
    "self_chan_balance_fee": _PLAIN,
    "keeps_unused_fee": _FLAG,
    "source": _PLAIN,
}
_CHANNEL: Final[_Columns] = {
    "capacity": _PLAIN,
    "self_chan_balance": _PLAIN,
    "lease_duration_blocks": _PLAIN,
    "node_tier": _Column(str, NodeTier),
    "bps": _PLAIN,
    "node_key": _NULL_IF_EMPTY,
    "node_host": _PLAIN,
    "node_id": _PLAIN,
    "announce": _FLAG,
    "zero_conf": _FLAG,
}

COLUMNS: Final = tuple(
    column.name or field
    for columns in (_ORDER, _QUOTE, _CHANNEL)
    for field, column in columns.items()
)
CHANGING: Final = tuple(
    _ORDER[field].name or field for field in OrderChanges.__annotations__
)


def row_of(order: Order) -> dict[str, Value]:
    """Convert the order to a row."""
    return {
        **_stored(order, _ORDER),
        **_stored(order.quote, _QUOTE),
        **_stored(order.quote.channel, _CHANNEL),
    }


def order_of(row: Row) -> Order:
    """Build the order from a row of all columns."""
    values = dict(zip(COLUMNS, row, strict=True))
    channel = Channel(**_loaded(values, _CHANNEL))
    quote = Quote(**_loaded(values, _QUOTE), channel=channel)
    return Order(**_loaded(values, _ORDER), quote=quote)


def _stored(part: Struct, columns: _Columns) -> dict[str, Value]:
    return {
        name or field: store(getattr(part, field)) if store else getattr(part, field)
        for field, (store, _, name) in columns.items()
    }


def _loaded(values: Mapping[str, Any], columns: _Columns) -> dict[str, Any]:
    return {
        field: load(values[name or field]) if load else values[name or field]
        for field, (_, load, name) in columns.items()
    }
