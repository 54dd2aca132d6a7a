"""One installation for all stories; it takes half a minute to come up."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.programs import built
from tests.reaper import in_memory
from tests.stories.town import Town


@pytest.fixture(scope="session")
def open_folder() -> Iterator[Path]:
    """A folder that other users may pass through, so that nodes can have their own."""
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def town(open_folder: Path) -> AsyncIterator[Town]:
    built("lnd", "btcd")
    town = Town(open_folder)
    try:
        await town.up()
        yield town
    finally:  # also when it did not come up: its daemons may have
        await town.down()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def market_town(open_folder: Path) -> AsyncIterator[Town]:
    """One whose market is open: tickets can be registered, and are filled."""
    built("lnd", "btcd", "poold", "auctioneer")
    folder = Path(tempfile.mkdtemp(prefix="market-", dir=open_folder))
    folder.chmod(0o755)
    town = Town(folder, market=True)
    try:
        await town.up()
        await town.opens()
        yield town
    finally:
        await town.down()
