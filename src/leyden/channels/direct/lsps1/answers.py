"""Orders in the format of LSPS1."""

from collections.abc import Mapping
from typing import Any, Final

from leyden.base.database.stores import Stores
from leyden.base.rules.times import to_iso
from leyden.channels import leased_channels
from leyden.channels.direct.rows.lsps1_orders import Lsps1Order
from leyden.channels.rules.orders import ENDED, Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState

_STATES: Final[Mapping[OrderStatus, str]] = {
    OrderStatus.WAITING_PAYMENT: "CREATED",
    OrderStatus.CREATING: "CREATED",
    OrderStatus.CREATED: "CREATED",
    OrderStatus.SUBMITTED: "CREATED",
    OrderStatus.FILLED: "COMPLETED",
    OrderStatus.EXPIRED: "FAILED",
    OrderStatus.FAILED: "FAILED",
    OrderStatus.CANCELLED: "FAILED",
}
_EXPECTED, _HELD, _REFUNDED = "EXPECT_PAYMENT", "HOLD", "REFUNDED"
_PAID: Final[Mapping[InvoiceState, str]] = {
    InvoiceState.ACCEPTED: _HELD,
    InvoiceState.SETTLED: "PAID",
    InvoiceState.CANCELLED: _REFUNDED,
}


async def show(
    rows: Stores, order: Order, details: Lsps1Order, *, hides_hold: bool = False
) -> dict[str, Any]:
    """Return the result of `create_order` and `get_order`.

    With `hides_hold`, a held payment is shown as expected, for clients that do not know
    that state and would ignore us from then on.
    """
    channel = order.quote.channel
    state = _payment_state(order)
    if hides_hold and state == _HELD:
        state = _EXPECTED
    return {
        "order_id": order.id,
        "lsp_balance_sat": str(channel.capacity),
        "client_balance_sat": "0",
        "required_channel_confirmations": details.confirmations,
        "funding_confirms_within_blocks": details.within_blocks,
        "channel_expiry_blocks": channel.lease_duration_blocks,
        "token": details.token,
        "announce_channel": channel.announce,
        "created_at": to_iso(order.created),
        "order_state": _STATES[order.status],
        "payment": {
            "bolt11": {
                "state": state,
                "expires_at": to_iso(order.expires),
                "fee_total_sat": str(order.total_fee),
                "order_total_sat": str(order.total_fee),
                "invoice": order.lightning_invoice,
            }
        },
        "channel": await _channel(rows, order),
    }


def _payment_state(order: Order) -> str:
    unpaid = _REFUNDED if order.status in ENDED else _EXPECTED
    return _PAID.get(order.invoice, unpaid) if order.invoice else unpaid


async def _channel(rows: Stores, order: Order) -> dict[str, str] | None:
    found = (await leased_channels.find(rows, [order])).get(order.id)
    if found is None:
        return None
    return {
        "funded_at": to_iso(found.since),
        "funding_outpoint": found.point,
        "expires_at": to_iso(found.ends),
    }
