"""A Tor that is none, for tests."""

from collections.abc import Set as AbstractSet

from leyden.errors import TorAway
from leyden.nodes.onions.base import TorState
from leyden.nodes.rules.onions import Onion


class FakeTor:
    """Keeps services in memory; away, or without a network, on request."""

    def __init__(self, others: AbstractSet[str] = frozenset()) -> None:
        self.services: dict[str, str] = dict.fromkeys(others, "")  # where each leads to
        self.away = False
        self.connected = True
        self.changes: list[tuple[str, str]] = []

    def restart(self) -> None:
        """Lose all services, as Tor does when it ends."""
        self.services.clear()

    async def status(self) -> TorState:
        """Return what it has."""
        self._answer()
        return TorState(
            hosts=frozenset(self.services), connected=self.connected, version="0.4.9.11"
        )

    async def add(self, onion: Onion) -> None:
        """Keep a service, unless it is there."""
        self._answer()
        self.changes.append(("add", onion.host))
        self.services.setdefault(onion.host, onion.to)

    async def remove(self, host: str) -> None:
        """Forget a service."""
        self._answer()
        self.changes.append(("remove", host))
        self.services.pop(host, None)

    def close(self) -> None:
        """Keep all services."""

    def _answer(self) -> None:
        if self.away:
            raise TorAway("tor_control: 127.0.0.1:9051: nothing listens there")
