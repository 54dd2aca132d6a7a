"""A benchmark that is ended by a signal ends what it started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_WAITS = """
import asyncio, sys

async def main():
    try:
        print("began", sys.argv[1:], flush=True)
        await asyncio.Event().wait()
    finally:
        print("ending", flush=True)
        await asyncio.sleep(0.5)  # as one waits for daemons
        print("ended", flush=True)

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_a_benchmark_that_is_terminated_cleans_up(tmp_path: Path) -> None:
    """Also when the signal arrives twice, as `timeout` sends it."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "waits.py").write_text(_WAITS)
    path = os.pathsep.join((str(ROOT), str(tmp_path)))
    with subprocess.Popen(
        (sys.executable, "-m", "bench", "waits", "--rounds", "3"),
        cwd=tmp_path / "bench",
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "began ['--rounds', '3']\n"
        running.send_signal(signal.SIGTERM)
        assert running.stdout.readline() == "ending\n"
        running.send_signal(signal.SIGTERM)
        assert running.stdout.read() == "ended\n"
    assert running.returncode not in {0, -signal.SIGTERM}
