"""An order as a row, and a row as the order."""

from functools import lru_cache

from leyden.domain.orders import Order, Status
from leyden.domain.payments import InvoiceState
from leyden.domain.pricing import Channel, NodeTier, Quote
from leyden.domain.times import from_us, to_us
from leyden.domain.units import Sats
from leyden.storage.statements import Row, Value

# What may change of an order; the rest is as it was ordered.
CHANGES = (
    "status",
    "credit_refund",
    "paid_at",
    "invoice_state",
    "accepted",
    "offered",
    "ticket_ref",
    "sealed_ticket",
    "order_nonce",
)

_STATUSES = {str(status): status for status in Status}
_INVOICE_STATES: dict[str | None, InvoiceState | None] = {
    None: None,
    **{str(state): state for state in InvoiceState},
}


def changes_of(order: Order) -> dict[str, Value]:
    """Return what may change of the order, as it is kept."""
    paid_at, invoice = order.paid_at, order.invoice
    return {
        "status": str(order.status),
        "credit_refund": order.credit_refund,
        "paid_at": None if paid_at is None else to_us(paid_at),
        "invoice_state": None if invoice is None else str(invoice),
        "accepted": order.htlc_sats,
        "offered": int(order.offered),
        "ticket_ref": order.ticket_ref or None,
        "sealed_ticket": order.sealed_ticket,
        "order_nonce": order.order_nonce,
    }


def order_of(row: Row) -> Order:
    """Return the order that is kept in a row."""
    # In the order of the table's columns.
    id_, organization_id, status, created, expires, *_ = row
    (
        credit_used,
        charged,
        credit_refund,
        paid_at,
        onchain_address,
        lightning_invoice,
        payment_hash,
        invoice_state,
        accepted,
        offered,
        ticket_ref,
        sealed_ticket,
        order_nonce,
    ) = row[15:]
    return Order(
        id=id_,
        organization_id=organization_id,
        status=_STATUSES[status],
        created=from_us(created),
        expires=from_us(expires),
        quote=_quote(row[5:15]),
        credit_used=credit_used,
        charged=charged,
        credit_refund=credit_refund,
        paid_at=None if paid_at is None else from_us(paid_at),
        onchain_address=onchain_address or "",
        lightning_invoice=lightning_invoice or "",
        payment_hash=payment_hash or "",
        invoice=_INVOICE_STATES[invoice_state],
        htlc_sats=accepted,
        offered=bool(offered),
        ticket_ref=ticket_ref or "",
        sealed_ticket=sealed_ticket,
        order_nonce=order_nonce,
    )


@lru_cache(maxsize=4096)
def _quote(row: Row) -> Quote:
    """Give what is paid for; many orders are for the same at the same price."""
    (
        capacity,
        self_chan_balance,
        lease_duration_blocks,
        node_tier,
        bps,
        rate_bps,
        rate_fixed,
        service_fee,
        pool_fee,
        self_chan_balance_fee,
    ) = row
    return Quote(
        channel=Channel(
            capacity=Sats(capacity),
            self_chan_balance=Sats(self_chan_balance),
            lease_duration_blocks=lease_duration_blocks,
            node_tier=NodeTier(node_tier),
            bps=bps,
        ),
        rate_bps=rate_bps,
        rate_fixed=rate_fixed,
        service_fee=Sats(service_fee),
        pool_fee=Sats(pool_fee),
        self_chan_balance_fee=Sats(self_chan_balance_fee),
    )
