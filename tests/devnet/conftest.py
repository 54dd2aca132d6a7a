"""Real programs and free ports for private chains."""

import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from leyden.daemons import catalogue
from leyden.daemons.build import default_cache
from leyden.daemons.workshop import place
from leyden.devnet.network import Network, Ports, stop
from tests.ports import free_ports


@pytest.fixture(scope="session")
def programs() -> Mapping[str, Path]:
    """btcd and lnd as they were built; building them here would take minutes."""
    found = {}
    for name in ("btcd", "lnd"):
        found[name] = place(default_cache(os.environ), *catalogue.find(name))
        if not found[name].exists():
            pytest.skip(f"{name} is not built: leyden daemons build {name}")
    return found


@dataclass(frozen=True)
class Place:
    """A home with its ports, so that a network can be opened on it many times."""

    home: Path
    programs: Mapping[str, Path]
    ports: Ports = field(
        default_factory=lambda: Ports(
            **dict(
                zip(
                    ("btcd", "treasury_peer", "treasury_grpc", "treasury_rest"),
                    free_ports(4),
                    strict=True,
                )
            )
        )
    )

    def network(self, *, fresh_s: float = 600.0) -> Network:
        return Network(
            self.home, programs=self.programs, ports=self.ports, fresh_s=fresh_s
        )


@pytest.fixture
async def place_(tmp_path: Path, programs: Mapping[str, Path]) -> AsyncIterator[Place]:
    """A home whose daemons end with the test."""
    yield Place(tmp_path, programs)
    await stop(tmp_path)
