"""A platform keeps the services of its nodes at a Tor that comes and goes.

Real lnds, and a real Tor, which has no network here: which services it has is seen, and
that it leads peers to the gateway is its own affair. What lnd announces is seen in
tests/nodes/lnd/test_real_lnd.py.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from leyden.errors import LeydenError
from leyden.nodes.onions.control import ControlPort, TorControl
from leyden.nodes.rules.onions import host_of
from leyden_workshop.devnet import access, wallet
from tests import tors
from tests.stories.platform import Owned, RunningPlatform

pytestmark = [
    pytest.mark.real,
    pytest.mark.long,  # an installation of its own
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]
_BY_NAME = 3
_UNREACHABLE = b"\x05\x04\x00\x01" + bytes(6)
_KEY = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tor(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tors.RealTor]:
    async with tors.running(tmp_path_factory.mktemp("tor")) as real:
        yield real


class Socks:
    """A SOCKS port that notes who is called, and reaches nobody."""

    def __init__(self) -> None:
        self.place = ""
        self.called: list[str] = []

    async def take(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Read a request of RFC 1928, and refuse it."""
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        *_, kind, length = await reader.readexactly(5)
        assert kind == _BY_NAME
        name = await reader.readexactly(length)
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.called.append(f"{name.decode()}:{port}")
        writer.write(_UNREACHABLE)
        writer.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def socks() -> AsyncIterator[Socks]:
    socks = Socks()
    async with await asyncio.start_server(socks.take, "127.0.0.1", 0) as server:
        socks.place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield socks


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def onion_platform(
    open_folder: Path, tor: tors.RealTor, socks: Socks
) -> AsyncIterator[RunningPlatform]:
    """A town whose operator runs Tor."""
    folder = open_folder / "onions"
    folder.mkdir(mode=0o755)
    platform = RunningPlatform(folder)
    platform.environment |= {
        "LEYDEN_TOR_CONTROL": tor.place,
        "LEYDEN_TOR_COOKIE_FILE": str(tor.cookie),
        "LEYDEN_TOR_SOCKS": socks.place,
    }
    try:
        await platform.up()
        yield platform
    finally:
        await platform.down()


async def started(platform: RunningPlatform, node: Owned) -> str:
    await platform.says(node, "waiting_init")
    shown: str = (await platform.of(node, "GET", ""))["onion_address"]
    return shown


async def test_the_address_stays_whatever_is_restarted(
    onion_platform: RunningPlatform, tor: tors.RealTor
) -> None:
    platform, control = (
        onion_platform,
        TorControl(ControlPort(address=tor.place, cookie_file=tor.cookie)),
    )
    node = await platform.create("far pier")
    address = await started(platform, node)
    host = address.removesuffix(":9735")

    async def is_there(host: str) -> bool:
        return host in (await control.status()).hosts

    await platform.until("Tor has it", partial(is_there, host))
    assert f"@{address}" in await platform.run("nodes", "connect", "far pier")

    await tor.kill()
    other = await platform.create("near pier")
    assert await started(platform, other), "it starts without Tor"
    await tor.start()
    await platform.until("it has all again", partial(is_there, host))

    await platform.kill()
    assert await is_there(host), "services outlive us"
    await platform.up()
    await platform.until("it is the same", partial(is_there, host))
    assert (await platform.of(node, "GET", ""))["onion_address"] == address

    await asyncio.gather(*(platform.of(each, "DELETE", "") for each in (node, other)))

    async def has_none() -> bool:
        return not (await control.status()).hosts

    await platform.until("Tor has none of ours", has_none)
    control.close()
    await asyncio.sleep(0)


async def test_a_node_reaches_onion_addresses_over_tor_and_others_directly(
    onion_platform: RunningPlatform, socks: Socks
) -> None:
    platform = onion_platform
    treasury = access.load(platform.home).lnds["treasury"]
    async with wallet.opened(treasury) as lnd:
        known = await lnd.key()
    node = await platform.create(
        "mole", settings={"torskipproxyforclearnettargets": True}
    )
    await platform.says(node, "waiting_init")
    await node.init()
    await platform.says(node, "running")

    async def connect(key: str, host: str) -> None:
        wish = {"addr": {"pubkey": key, "host": host}, "timeout": "20"}
        await node.call("POST", "/v1/peers", wish)

    onion = f"{host_of(bytes(32))}:9735"
    with pytest.raises(LeydenError):
        await connect(_KEY, onion)
    assert socks.called == [onion]
    await connect(known, treasury.peer)

    async def is_connected() -> bool:
        peers = (await node.call("GET", "/v1/peers"))["peers"]
        return [each["pub_key"] for each in peers] == [known]

    await platform.until("they are connected", is_connected)
    assert socks.called == [onion]
    await platform.of(node, "DELETE", "")
