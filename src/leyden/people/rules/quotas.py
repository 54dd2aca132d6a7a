"""Quotas of an organization, and the errors when they are exceeded.

Quotas limit the use of a shared machine by one organization; they are not a
price.
"""

from collections.abc import Mapping
from enum import StrEnum, auto
from typing import Final, NamedTuple

from leyden.errors import OverQuota
from leyden.values import Struct

MB: Final = 1_000_000
# A deleted node's data is kept for a week, so nodes and deleted nodes together may be
# this many times the quota of nodes.
KEPT_NODES: Final = 2
# An unpaid order that is cancelled leaves an invoice and an address behind.
CANCELLED_ORDERS: Final = 4


class Quota(StrEnum):
    """A counted resource, by the words of the API and of the commands."""

    NODES = auto()
    UNPAID_ORDERS = auto()
    KEYS = auto()
    INVITATIONS = auto()
    MEMBERS = auto()
    MACAROONS_PER_NODE = auto()
    REPLACED_BACKUPS_MB = auto()
    IDEMPOTENCY_KEYS = auto()


Limits = Mapping[Quota, int]


class UsedQuota(Struct, frozen=True, kw_only=True):
    """The amount of a quota in use."""

    used: int
    limit: int
    default: int  # the limit unless the operator has set another one

    @property
    def is_reached(self) -> bool:
        """Whether the quota is used up."""
        return self.used >= self.limit


class _Words(NamedTuple):
    label: str  # on pages
    counted: str  # in a sentence
    remedy: str


WORDS: Final[Mapping[Quota, _Words]] = {
    Quota.NODES: _Words("Nodes", "nodes", "delete a node"),
    Quota.UNPAID_ORDERS: _Words(
        "Unpaid orders",
        "unpaid orders",
        "pay or cancel an order, or wait until one expires",
    ),
    Quota.KEYS: _Words("API keys", "active API keys", "revoke a key"),
    Quota.INVITATIONS: _Words(
        "Open invitations", "open invitations", "revoke an invitation"
    ),
    Quota.MEMBERS: _Words("Members", "members", "remove a member"),
    Quota.MACAROONS_PER_NODE: _Words(
        "Stored macaroons per node",
        "stored macaroons of one node",
        "replace a macaroon that you no longer need",
    ),
    Quota.REPLACED_BACKUPS_MB: _Words(
        "History of replaced backups (MB)",
        "MB of replaced backups",
        "wait until the oldest are 30 days old",
    ),
    Quota.IDEMPOTENCY_KEYS: _Words(
        "Idempotency keys in use",
        "stored Idempotency-Keys",
        "wait until the oldest expire",
    ),
}


def check(quota: Quota, *, used: int, more: int = 1, limit: int) -> None:
    """Raise OverQuota, with what to do, if `more` would exceed the limit."""
    if used + more > limit:
        raise OverQuota(refusal(quota, used=used, limit=limit))


def refusal(quota: Quota, *, used: int, limit: int) -> str:
    """Return an error with the limit, the usage, and what to do."""
    words = WORDS[quota]
    return (
        f"quota: your organization has {used:,} of {limit:,} {words.counted}; "
        f"{words.remedy}, or ask the operator to raise the limit"
    )


def megabytes(size: int) -> int:
    """Return a size in bytes in MB, rounded up."""
    return -(-size // MB)
