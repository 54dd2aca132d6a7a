"""One installation for all stories; it takes half a minute to come up."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.programs import built
from tests.reaper import in_memory
from tests.stories.platform import RunningPlatform


@pytest.fixture(scope="session")
def open_folder() -> Iterator[Path]:
    """A folder that other users may pass through, so that nodes can have their own."""
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def platform(open_folder: Path) -> AsyncIterator[RunningPlatform]:
    built("lnd", "btcd")
    platform = RunningPlatform(open_folder)
    try:
        await platform.up()
        yield platform
    finally:  # also when it did not come up: its daemons may have
        await platform.down()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def trading_platform(open_folder: Path) -> AsyncIterator[RunningPlatform]:
    """One whose market is open: tickets can be registered, and are filled."""
    built("lnd", "btcd", "poold", "auctioneer")
    folder = Path(tempfile.mkdtemp(prefix="market-", dir=open_folder))
    folder.chmod(0o755)
    platform = RunningPlatform(folder, market=True)
    try:
        await platform.up()
        await platform.opens()
        yield platform
    finally:
        await platform.down()
