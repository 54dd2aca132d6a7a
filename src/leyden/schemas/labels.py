"""The words that people read for the states of things; the API keeps its own.

Pages and commands for people take them from here. A word without a label of its
own is shown as it is written, with spaces and a capital letter.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # Nodes
        "provisioning": "Setting up",
        "starting": "Starting",
        "waiting_init": "Waiting for wallet",
        "waiting_unlock": "Wallet locked",
        "running": "Running",
        "stopping": "Stopping",
        "stopped": "Stopped",
        "restarting": "Restarting",
        "updating": "Updating",
        "deleting": "Deleting",
        # Orders
        "waiting_payment": "Waiting for payment",
        "creating": "Preparing ticket",
        "created": "Ticket ready",
        "submitted": "Waiting for match",
        "filled": "Filled",
        "expired": "Expired",
        "cancelled": "Cancelled",
        # Deliveries, and what is sent to a receiver
        "pending": "Pending",
        "delivered": "Delivered",
        "superseded": "Superseded",
        "active": "Active",
        "paused": "Paused",
        # Both nodes and orders, and deliveries
        "failed": "Failed",
    }
)


def label(word: str) -> str:
    """Return the words for a state: `waiting_init` is `Waiting for wallet`."""
    found = LABELS.get(word)
    return word.replace("_", " ").capitalize() if found is None else found
