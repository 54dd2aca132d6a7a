"""kill -9 at every fsync there is: what was said stays true, and the rest goes on."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from leyden.base.database import schema
from leyden.errors import Unauthorized
from leyden.people import api_keys
from tests.crash import victim
from tests.crash.conftest import EVERY_TASK, Said, crash_points, run_victim, some_or_all

pytestmark = [pytest.mark.usefixtures("strace"), pytest.mark.timeout(300)]


def kills(story: str, urls: Iterator[str], every: int) -> Iterator[tuple[str, Said]]:
    """Run the story on a fresh database once for each fsync, and kill it there.

    The last time it comes to its end: what was said then has to stay true as well.
    """
    for number, url in zip(crash_points(every), urls, strict=False):
        said = run_victim(story, url, kill_at_fsync=number)
        yield url, said
        if not said.killed:
            assert number > 3, "the story has to reach the disk"
            return


@some_or_all
async def test_a_key_that_was_shown_opens(fresh: Iterator[str], every: int) -> None:
    survived = 0
    for url, said in kills("keys", fresh, every):
        platform = await victim.opened(url)
        for text in said.of("key"):
            await api_keys.authenticate(platform, text, now=platform.clock())
            survived += 1
        with pytest.raises(Unauthorized):
            await api_keys.authenticate(platform, "leyden_", now=platform.clock())
        await platform.database.close()
        after = run_victim("keys", url)
        assert not after.killed
        if said.of("organization"):
            assert after.of("organization") == said.of("organization")
    assert survived > 0


@some_or_all
async def test_each_task_is_done_once(fresh: Iterator[str], every: int) -> None:
    for url, said in kills("work", fresh, every):
        after = run_victim("work", url)
        assert not after.killed
        assert await victim.lines_left(url) == EVERY_TASK
        assert set(said.of("done")).isdisjoint(after.of("done"))


@some_or_all
def test_a_migration_is_done_whole_or_not_at_all(tmp_path: Path, every: int) -> None:
    empty = (f"sqlite:///{tmp_path}/{number}.db" for number in itertools.count())
    for url, _ in kills("migrate", empty, every):
        newest = schema.migrate(url)
        assert run_victim("migrate", url).of("migrated") == [newest]
        schema.check(url)
