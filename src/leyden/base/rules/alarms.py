"""The kinds of alarms, and what jobs find that raises one."""

from datetime import timedelta
from enum import StrEnum
from typing import Final

from leyden.values import Struct


class AlarmKind(StrEnum):
    """The kind of an alarm."""

    BACKUP_NONE = "backup.none"
    BACKUP_STALE = "backup.stale"
    CERTIFICATE_EXPIRING = "certificate.expiring"
    CHAIN_AWAY = "chain.away"
    DISK_LOW = "disk.low"
    EMAIL_AWAY = "email.away"
    GATEWAY_AWAY = "gateway.away"
    INVOICE_UNKNOWN = "invoice.unknown"
    LEDGER_BROKEN = "ledger.broken"
    MARKET_AWAY = "market.away"
    MOVE_STUCK = "move.stuck"
    NODE_CRASHING = "node.crashing"
    NODE_FAILED = "node.failed"
    NODE_UNKNOWN = "node.unknown"
    ORDER_OWED = "order.owed"
    ORDER_STUCK = "order.stuck"
    ORDER_UNPAID = "order.unpaid"
    PAYMENT_REVERSED = "payment.reversed"
    PAYMENT_UNBOOKED = "payment.unbooked"
    PEER_PORTS_LOW = "peer_ports.low"
    PEER_PORTS_TAKEN = "peer_ports.taken"
    POOL_EXPIRING = "pool.expiring"
    POOL_LOW = "pool.low"
    PURCHASE_LOST = "purchase.lost"
    PURCHASE_UNKNOWN = "purchase.unknown"
    PURSE_DIFFERS = "purse.differs"
    PURSE_LOST = "purse.lost"
    PURSE_UNPUBLISHED = "purse.unpublished"
    QUEUE_LAGGING = "queue.lagging"
    SELLER_AWAY = "seller.away"
    SELLER_LOW = "seller.low"
    SELLER_UNREACHABLE = "seller.unreachable"
    TOR_AWAY = "tor.away"
    TREASURY_AWAY = "treasury.away"
    TREASURY_DIFFERS = "treasury.differs"
    TREASURY_REPLACED = "treasury.replaced"


# The subject of `seller.away` if it is about the lnd of just-in-time channels.
PURSE: Final = "purse"
FINDINGS_KEPT: Final = timedelta(days=7)


class Finding(Struct, frozen=True, kw_only=True):
    """Something that a job found wrong, and that no table shows afterwards.

    It raises an alarm from the next check on, until `lasts` has passed since a job last
    found it.
    """

    kind: AlarmKind
    subject: str  # what it is about, usually the id of an order
    what: str
    lasts: timedelta = FINDINGS_KEPT
