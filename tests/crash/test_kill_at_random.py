"""kill -9 at a random instant, again and again, until the work is done."""

import asyncio
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.crash import victim
from tests.crash.conftest import EVERY_TASK, run_victim
from tests.crash.test_replicas import begin, check_books

_SEED = random.SystemRandom().randrange(2**32)


@pytest.mark.parametrize(
    "database_url",
    ["sqlite", pytest.param("postgres", marks=pytest.mark.long)],
    indirect=True,
)
def test_work_ends_whatever_is_killed(database_url: str) -> None:
    print(f"seed {_SEED}")  # noqa: T201  shown when the test fails
    chance = random.Random(_SEED)  # noqa: S311  no secret
    for _ in range(8):
        with subprocess.Popen(
            [sys.executable, "-m", "tests.crash.victim", "work", database_url],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()  # it is at work now
            time.sleep(chance.uniform(0, 0.03))
            process.kill()
    assert not run_victim("work", database_url).killed
    assert asyncio.run(victim.lines_left(database_url)) == EVERY_TASK


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kills", [20, 500])
def test_money_is_where_it_belongs_whatever_is_killed(
    sqlite_template: Path, tmp_path: Path, kills: int
) -> None:
    """F3: coupons, orders, payments and cancels, told again until they are all done."""
    print(f"seed {_SEED}")  # noqa: T201  shown when the test fails
    chance = random.Random(_SEED)  # noqa: S311  no secret
    story = 0
    while kills > 0:
        story += 1
        folder = tmp_path / f"{story}"
        folder.mkdir()
        shutil.copy(sqlite_template, folder / "leyden.db")
        url, said = f"sqlite:///{folder}/leyden.db", folder / "said"
        for left in range(chance.randint(1, 4), -1, -1):
            said.write_bytes(b"")
            with begin(url, folder, said) as channels:
                try:
                    while left and b"at work" not in said.read_bytes():
                        assert channels.poll() is None, _sighed(folder)
                        time.sleep(0.01)
                    if left:
                        time.sleep(chance.uniform(0, 0.5))
                    else:
                        assert channels.wait(150) == 0, _sighed(folder)
                finally:
                    channels.kill()
                kills -= 1
        asyncio.run(check_books(url, folder))
        shutil.rmtree(folder)


def _sighed(folder: Path) -> str:
    return (folder / "sighed").read_text()[-3_000:]
