"""A platform keeps the services of its nodes at a Tor that comes and goes.

Real lnds, and a real Tor, which has no network here: which services it has is seen, and
that it leads peers to the gateway is its own affair. What lnd announces is seen in
tests/lnd/test_real_lnd.py.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from leyden.tor.control import ControlPort, TorControl
from tests import tors
from tests.acceptance.town import Owned, Town

pytestmark = [
    pytest.mark.real,
    pytest.mark.long,  # an installation of its own
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tor(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tors.RealTor]:
    async with tors.running(tmp_path_factory.mktemp("tor")) as real:
        yield real


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def onion_town(open_folder: Path, tor: tors.RealTor) -> AsyncIterator[Town]:
    """A town whose operator runs Tor."""
    folder = open_folder / "onions"
    folder.mkdir(mode=0o755)
    town = Town(folder)
    town.environment |= {
        "LEYDEN_TOR_CONTROL": tor.place,
        "LEYDEN_TOR_COOKIE_FILE": str(tor.cookie),
    }
    try:
        await town.up()
        yield town
    finally:
        await town.down()


async def started(town: Town, node: Owned) -> str:
    await town.says(node, "waiting_init")
    shown: str = (await town.of(node, "GET", ""))["onion_address"]
    return shown


async def test_the_address_stays_whatever_is_restarted(
    onion_town: Town, tor: tors.RealTor
) -> None:
    town, control = (
        onion_town,
        TorControl(ControlPort(place=tor.place, cookie_file=tor.cookie)),
    )
    node = await town.create("far pier")
    address = await started(town, node)
    host = address.removesuffix(":9735")

    async def is_there(host: str) -> bool:
        return host in (await control.status()).hosts

    await town.until("Tor has it", partial(is_there, host))
    assert f"@{address}" in await town.run("nodes", "connect", "far pier")

    await tor.kill()
    other = await town.create("near pier")
    assert await started(town, other), "it starts without Tor"
    await tor.start()
    await town.until("it has all again", partial(is_there, host))

    await town.kill()
    assert await is_there(host), "services outlive us"
    await town.up()
    await town.until("it is the same", partial(is_there, host))
    assert (await town.of(node, "GET", ""))["onion_address"] == address

    await asyncio.gather(*(town.of(each, "DELETE", "") for each in (node, other)))

    async def has_none() -> bool:
        return not (await control.status()).hosts

    await town.until("Tor has none of ours", has_none)
    control.close()
    await asyncio.sleep(0)
