"""kill -9 at every fsync there is: what was said stays true, and the rest goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from leyden.errors import Unauthorized
from leyden.services import accounts
from leyden.storage import schema
from tests.crash import victim
from tests.crash.conftest import EVERY_TASK, Said, run_victim

pytestmark = [pytest.mark.usefixtures("strace"), pytest.mark.timeout(300)]


def kills(
    story: str, folder: Path, *, migrated: bool = True
) -> Iterator[tuple[str, Said]]:
    """Run the story on a fresh database once for each fsync, and kill it there."""
    for number in range(1, 200):
        url = f"sqlite:///{folder}/{number}.db"
        if migrated:
            schema.migrate(url)
        said = run_victim(story, url, kill_at_fsync=number)
        if not said.killed:
            assert number > 3, "the story has to reach the disk"
            return
        yield url, said
    raise AssertionError("the story does not end")


async def test_a_key_that_was_shown_opens(tmp_path: Path) -> None:
    survived = 0
    for url, said in kills("keys", tmp_path):
        platform = await victim.opened(url)
        for text in said.of("key"):
            await accounts.authenticate(platform, text, now=platform.clock())
            survived += 1
        with pytest.raises(Unauthorized):
            await accounts.authenticate(platform, "leyden_", now=platform.clock())
        await platform.database.close()
        after = run_victim("keys", url)
        assert not after.killed
        if said.of("organization"):
            assert after.of("organization") == said.of("organization")
    assert survived > 0


async def test_each_task_is_done_once(tmp_path: Path) -> None:
    for url, said in kills("work", tmp_path):
        after = run_victim("work", url)
        assert not after.killed
        assert await victim.lines_left(url) == EVERY_TASK
        assert set(said.of("done")).isdisjoint(after.of("done"))


def test_a_migration_is_done_whole_or_not_at_all(tmp_path: Path) -> None:
    for url, _ in kills("migrate", tmp_path, migrated=False):
        newest = schema.migrate(url)
        assert run_victim("migrate", url).of("migrated") == [newest]
        schema.check(url)
