"""A process among the replicas of its platform."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.app import replicas
from leyden.app.migration import migrate
from leyden.app.opening import opened
from leyden.errors import SetupError
from leyden.services.platform import Platform
from leyden.settings import Settings


@pytest.fixture
async def platform(tmp_path: Path, postgres_url: str) -> AsyncIterator[Platform]:
    given = Settings(home=str(tmp_path), database_url=postgres_url)
    migrate(given)
    async with opened(given) as platform:
        yield platform


async def raised(platform: Platform) -> bool:
    async with platform.database.transaction() as tx:
        return await tx.replicas.raise_floor("9000_next", now=platform.clock())


async def test_it_is_counted_and_leaves(platform: Platform) -> None:
    async with replicas.counted(platform, "one"):
        assert not await raised(platform)
    assert await raised(platform)
    with pytest.raises(SetupError, match="install their version"):
        async with replicas.counted(platform, "two"):
            pass


async def test_it_ends_where_it_was_silent_and_is_too_old_now(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas, "_BEAT_S", 0.2)
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    async with replicas.counted(platform, "one"):
        async with platform.database.transaction() as tx:
            await tx.replicas.leave("one")  # as if it was silent for a minute
        assert await raised(platform)
        async with asyncio.timeout(10):
            await told.wait()
    asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
