"""What every store of trusted roots can do."""

from enum import StrEnum
from typing import Protocol

from leyden.customer.trust.root import Root
from leyden.values import Struct


class Did(StrEnum):
    """What became of a root in a store."""

    TRUSTED = "trusted"
    REPLACED = "replaced"  # one of the same name that was there before
    ALREADY = "trusted before"
    REMOVED = "removed"
    ABSENT = "not there"
    FAILED = "failed"


class StoreOutcome(Struct, frozen=True, kw_only=True):
    """What was done with one store, and why not where it failed."""

    store: str
    where: str
    did: Did
    why: str = ""


class TrustStore(Protocol):
    """One place in which roots are trusted. Both calls may be repeated."""

    label: str

    def add(self, root: Root) -> StoreOutcome:
        """Trust the root, in the place of one of the same name."""
        ...

    def remove(self, root: Root) -> StoreOutcome:
        """Trust exactly this root no more."""
        ...
