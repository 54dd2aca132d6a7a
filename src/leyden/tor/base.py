"""Tor, as far as nodes need it: onion services that last as long as its process."""

from typing import Protocol

from leyden.domain.onions import Onion
from leyden.values import Struct


class Standing(Struct, frozen=True, kw_only=True):
    """What Tor has, and whether it does any good."""

    hosts: frozenset[str]  # of the services that belong to no connection: others' too
    connected: bool  # whether Tor has circuits, without which nobody reaches a service
    version: str


class Tor(Protocol):
    """A Tor that the operator runs. Each call raises TorAway, and may be repeated."""

    async def look(self) -> Standing:
        """Return what Tor has."""
        ...

    async def add(self, onion: Onion) -> None:
        """Create a service that stays when we are gone; no-op if it is there.

        Whether one that is there leads to the same place is not known.
        """
        ...

    async def remove(self, host: str) -> None:
        """End a service; no-op if it is not there. What is connected stays so."""
        ...

    def close(self) -> None:
        """Let go of what was kept open; services stay."""
        ...
