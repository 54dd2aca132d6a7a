"""The kinds of alarms."""

from enum import StrEnum


class Kind(StrEnum):
    """The kind of an alarm."""

    BACKUP_STALE = "backup.stale"
    CERTIFICATE_EXPIRING = "certificate.expiring"
    DISK_LOW = "disk.low"
    EMAIL_AWAY = "email.away"
    LEDGER_BROKEN = "ledger.broken"
    MARKET_AWAY = "market.away"
    MOVE_STUCK = "move.stuck"
    NODE_CRASHING = "node.crashing"
    NODE_FAILED = "node.failed"
    NODE_UNKNOWN = "node.unknown"
    ORDER_STUCK = "order.stuck"
    PAYMENT_REVERSED = "payment.reversed"
    PEER_PORTS_LOW = "peer_ports.low"
    PEER_PORTS_TAKEN = "peer_ports.taken"
    POOL_EXPIRING = "pool.expiring"
    POOL_LOW = "pool.low"
    QUEUE_LAGGING = "queue.lagging"
    SELLER_AWAY = "seller.away"
    SELLER_LOW = "seller.low"
    TOR_AWAY = "tor.away"
    TREASURY_AWAY = "treasury.away"
    TREASURY_REPLACED = "treasury.replaced"
