"""Private chains that several files use: each is started once in a process of a run.

`longest_first` sees to it that one process runs all files which use the same.
Imports are where they are needed: they are slow, and few tests need them.
"""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.reaper import in_memory

if TYPE_CHECKING:
    from tests.channels.contracts.treasuries import TreasuryHarness
    from tests.workshop.devnet.manual_auction import ManualAuction


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def auction() -> AsyncIterator["ManualAuction"]:
    """A whole market, whose batches are made when a test says so."""
    from tests.workshop.devnet.manual_auction import ManualAuction  # noqa: PLC0415

    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        auction = await ManualAuction.opened(Path(folder) / "home", every_s=0)
        yield auction
        await auction.close()


@pytest.fixture(scope="session")
def treasury() -> Iterator["TreasuryHarness"]:
    """A treasury and a customer who pays it."""
    from tests.channels.contracts import treasuries  # noqa: PLC0415

    with (
        tempfile.TemporaryDirectory(dir=in_memory()) as folder,
        treasuries.opened(Path(folder)) as made,
    ):
        yield made
