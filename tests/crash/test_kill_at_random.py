"""kill -9 at a random instant, again and again, until the work is done."""

import asyncio
import random
import subprocess
import sys
import time

from tests.crash import victim
from tests.crash.conftest import EVERY_TASK, run_victim

_SEED = random.SystemRandom().randrange(2**32)


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
