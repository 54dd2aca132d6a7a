"""Real programs and free ports for private chains."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from leyden_workshop.devnet.layout import DaemonPorts
from leyden_workshop.devnet.network import PrivateNetwork, stop
from tests.ports import free_ports
from tests.programs import built


def some_ports() -> DaemonPorts:
    """Return free ports for a chain without a market."""
    btcd, peer, grpc, rest = free_ports(4)
    return DaemonPorts(
        btcd=btcd, treasury_peer=peer, treasury_grpc=grpc, treasury_rest=rest
    )


@pytest.fixture(scope="session")
def programs() -> Mapping[str, Path]:
    """btcd and lnd."""
    return built("btcd", "lnd")


@dataclass(frozen=True)
class WorkshopHome:
    """A home with its ports, so that a network can be opened on it many times."""

    home: Path
    programs: Mapping[str, Path]
    ports: DaemonPorts = field(default_factory=some_ports)

    def network(self, *, fresh_s: float = 600.0, block_s: float = 0) -> PrivateNetwork:
        return PrivateNetwork(
            self.home,
            programs=self.programs,
            ports=self.ports,
            fresh_s=fresh_s,
            block_s=block_s,
        )


@pytest.fixture
async def workshop_home(
    memory_path: Path, programs: Mapping[str, Path]
) -> AsyncIterator[WorkshopHome]:
    """A home whose daemons end with the test."""
    yield WorkshopHome(memory_path, programs)
    await stop(memory_path)
