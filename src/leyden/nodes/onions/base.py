"""The interface of Tor: onion services that last as long as its process."""

from typing import Protocol

from leyden.nodes.rules.onions import Onion
from leyden.values import Struct


class TorState(Struct, frozen=True, kw_only=True):
    """Tor's onion services, and whether Tor is connected."""

    hosts: frozenset[str]  # of all detached services, including those of others
    connected: bool  # whether Tor has circuits, which services need
    version: str


class Tor(Protocol):
    """A Tor that the operator runs. Every call may raise TorAway, and be repeated."""

    async def status(self) -> TorState:
        """Return Tor's services and its state."""
        ...

    async def add(self, onion: Onion) -> None:
        """Create a service that outlives our connection; no-op if it exists.

        An existing service may lead to another target: Tor does not say.
        """
        ...

    async def remove(self, host: str) -> None:
        """Remove a service; no-op if it does not exist. Open connections stay."""
        ...

    def close(self) -> None:
        """Close the connection; services stay."""
        ...
