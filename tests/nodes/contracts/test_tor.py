"""What a Tor does for nodes: the real one, which has no network here, and the fake."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest

from leyden.errors import TorAway
from leyden.nodes.onions.base import Tor
from leyden.nodes.onions.control import ControlPort, TorControl
from leyden.nodes.rules.onions import Onion
from tests import tors
from tests.fakes.tor import FakeTor

ONE = Onion(seed=b"1" * 32, to="127.0.0.1:21000")
OTHER = Onion(seed=b"2" * 32, to="127.0.0.1:21001")


class World(Protocol):
    """A Tor, and what may become of it."""

    tor: Tor

    async def dies(self) -> None: ...

    async def comes_back(self) -> None: ...


class FakeWorld:
    def __init__(self) -> None:
        self._fake = FakeTor()
        self._fake.connected = False
        self.tor: Tor = self._fake

    async def dies(self) -> None:
        self._fake.restart()
        self._fake.away = True

    async def comes_back(self) -> None:
        self._fake.away = False


class RealWorld:
    def __init__(self, real: tors.RealTor) -> None:
        self.tor: Tor = TorControl(
            ControlPort(address=real.place, cookie_file=real.cookie)
        )
        self.dies = real.kill
        self.comes_back = real.start


@pytest.fixture(params=["fake", "real"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    async with tors.running(tmp_path) as real:
        world = RealWorld(real)
        yield world
        world.tor.close()


async def test_services_are_there_until_they_are_removed(world: World) -> None:
    assert (await world.tor.status()).hosts == set()
    await world.tor.add(ONE)
    assert (await world.tor.status()).hosts == {ONE.host}
    await world.tor.add(OTHER)
    assert (await world.tor.status()).hosts == {ONE.host, OTHER.host}
    await world.tor.remove(ONE.host)
    assert (await world.tor.status()).hosts == {OTHER.host}


async def test_what_is_done_twice_has_been_done_once(world: World) -> None:
    for _ in range(2):
        await world.tor.add(ONE)
    assert (await world.tor.status()).hosts == {ONE.host}
    for _ in range(2):
        await world.tor.remove(ONE.host)
    assert (await world.tor.status()).hosts == set()


async def test_a_tor_that_was_restarted_has_none(world: World) -> None:
    await world.tor.add(ONE)
    await world.dies()
    for call in (world.tor.status(), world.tor.add(ONE), world.tor.remove(ONE.host)):
        with pytest.raises(TorAway, match=r"^tor_control: 127\.0\.0\.1:.*nothing lis"):
            await call
    await world.comes_back()
    assert (await world.tor.status()).hosts == set()
    await world.tor.add(ONE)
    assert (await world.tor.status()).hosts == {ONE.host}


async def test_it_tells_whether_anybody_can_reach_it(world: World) -> None:
    standing = await world.tor.status()
    assert not standing.connected
    assert standing.version.startswith("0.")
