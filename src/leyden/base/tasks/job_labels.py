"""The words that operators read for kinds of jobs; rows and metrics keep the kinds."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # Nodes
        "node": "Node starts and stops",
        "watcher": "Node monitoring",
        "relocation": "Node moves",
        "routes": "Gateway routes",
        "housekeeping": "Node files, logs and versions",
        "onions": "Onion services",
        "certificates": "Certificates that are due",
        "issuance": "Certificate orders",
        "samples": "Node charts, of an earlier version",
        "watch": "Node monitoring, of an earlier version",
        # Orders and money
        "ticket": "Ticket creation",
        "tickets": "Tickets in the auction",
        "ticket withdrawal": "Ticket cancellation",
        "invoice closing": "Invoice cancellation",
        "order expiry": "Order expiry",
        "order pruning": "Deletion of old unpaid LSPS1 orders",
        "payments sweep": "Missed payments",
        "treasury comparison": "Comparison with the treasury",
        "auction account": "Pool account",
        "channel opening": "Channel openings",
        "direct channels": "Direct channels",
        "lsps1 messages": "LSPS1 messages",
        "just-in-time channels": "Just-in-time channels",
        "purse comparison": "Comparison with the purse",
        "lease extension": "Extensions of leases",
        "leases": "Leases, of an earlier version",
        "fundings": "Funding transactions, of an earlier version",
        # Events
        "node webhooks": "Node webhooks",
        "webhooks": "Node webhooks, of an earlier version",
        "subscriptions": "Events to endpoints and by email",
        "emails": "Emails",
        "alarms": "Alarms",
        "expiring keys": "API keys that expire soon",
        # The installation
        "backups": "Backups and drills",
        "channel backups": "Channel backups",
        "changes": "Database changes for the backup store",
        "forget answers": "Deletion of old idempotency keys",
        "forget sign-ins": "Deletion of expired sign-ins",
        "forget events": "Deletion of old events",
        "forget webhooks": "Deletion of old webhook deliveries",
    }
)


def label(kind: str) -> str:
    """Return the words for a kind of job; a kind of another version is its own."""
    return LABELS.get(kind, kind)
