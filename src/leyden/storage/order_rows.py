"""Conversion of orders to rows, and of rows to orders."""

from leyden.domain.destinations import Destination
from leyden.domain.orders import Order, Status
from leyden.domain.payments import InvoiceState
from leyden.domain.pricing import Channel, NodeTier, Quote
from leyden.domain.times import from_us, to_us
from leyden.domain.units import Sats
from leyden.storage.statements import Row, Value


def row_of(order: Order) -> dict[str, Value]:
    """Convert the order to a row."""
    quote = order.quote
    channel = quote.channel
    to = channel.destination
    return {
        "id": order.id,
        "organization_id": order.organization_id,
        "status": str(order.status),
        "created": to_us(order.created),
        "expires": to_us(order.expires),
        "capacity": channel.capacity,
        "self_chan_balance": channel.self_chan_balance,
        "lease_duration_blocks": channel.lease_duration_blocks,
        "node_tier": str(channel.node_tier),
        "bps": channel.bps,
        "rate_bps": quote.rate_bps,
        "rate_fixed": quote.rate_fixed,
        "service_fee": quote.service_fee,
        "pool_fee": quote.pool_fee,
        "self_chan_balance_fee": quote.self_chan_balance_fee,
        "credit_used": order.credit_used,
        "charged": order.charged,
        "credit_refund": order.credit_refund,
        "paid_at": None if order.paid_at is None else to_us(order.paid_at),
        "onchain_address": order.onchain_address or None,
        "lightning_invoice": order.lightning_invoice or None,
        "payment_hash": order.payment_hash or None,
        "invoice_state": None if order.invoice is None else str(order.invoice),
        "accepted": order.htlc_sats,
        "offered": int(order.offered),
        "ticket_ref": order.ticket_ref or None,
        "sealed_ticket": order.sealed_ticket,
        "order_nonce": order.order_nonce,
        "keeps_unused_fee": int(quote.keeps_unused_fee),
        "node_key": to.pubkey if to else None,
        "node_host": to.host if to else "",
        "node_id": to.node_id if to else "",
        "announce": int(to.announce) if to else 0,
        "channel_point": order.channel_point,
        "htlc_expires": order.htlc_expires,
        "zero_conf": int(to.zero_conf) if to else 0,
    }


def order_of(row: Row) -> Order:
    """Build the order from a row."""
    (
        id_,
        organization_id,
        status,
        created,
        expires,
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
        keeps_unused_fee,
        node_key,
        node_host,
        node_id,
        channel_point,
        announce,
        htlc_expires,
        zero_conf,
    ) = row
    destination = None
    if node_key is not None:
        destination = Destination(
            pubkey=node_key,
            host=node_host,
            node_id=node_id,
            announce=bool(announce),
            zero_conf=bool(zero_conf),
        )
    channel = Channel(
        capacity=Sats(capacity),
        self_chan_balance=Sats(self_chan_balance),
        lease_duration_blocks=lease_duration_blocks,
        node_tier=NodeTier(node_tier),
        bps=bps,
        destination=destination,
    )
    quote = Quote(
        channel=channel,
        rate_bps=rate_bps,
        rate_fixed=rate_fixed,
        service_fee=Sats(service_fee),
        pool_fee=Sats(pool_fee),
        self_chan_balance_fee=Sats(self_chan_balance_fee),
        keeps_unused_fee=bool(keeps_unused_fee),
    )
    return Order(
        id=id_,
        organization_id=organization_id,
        status=Status(status),
        created=from_us(created),
        expires=from_us(expires),
        quote=quote,
        credit_used=credit_used,
        charged=charged,
        credit_refund=credit_refund,
        paid_at=None if paid_at is None else from_us(paid_at),
        onchain_address=onchain_address or "",
        lightning_invoice=lightning_invoice or "",
        payment_hash=payment_hash or "",
        invoice=None if invoice_state is None else InvoiceState(invoice_state),
        htlc_sats=accepted,
        offered=bool(offered),
        ticket_ref=ticket_ref or "",
        sealed_ticket=sealed_ticket,
        order_nonce=order_nonce,
        htlc_expires=htlc_expires,
        channel_point=channel_point,
    )
