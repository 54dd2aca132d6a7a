"""What restic and age do when who called them was killed."""

import os
import select
import subprocess
import sys
import time
from pathlib import Path

_CALLS = """
import asyncio, sys
from leyden.backups.store.calls import call

script = 'echo $$ > "$1.draft"; mv "$1.draft" "$1"; exec sleep 100'
argv = ("/bin/sh", "-c", script, "sh", sys.argv[1])
asyncio.run(call(argv, doing="sleeping", deadline_s=100))
"""


def test_what_was_called_ends_with_us(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", _CALLS, str(file)]) as caller:
        while not file.exists():
            assert caller.poll() is None
            time.sleep(0.01)
        called = os.pidfd_open(int(file.read_text()))
        caller.kill()
    ended, _, _ = select.select([called], [], [], 10)
    os.close(called)
    assert ended
