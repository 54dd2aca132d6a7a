"""Programs of customers in Python: key, node, order, events.

Those in other languages are with the clients that tools make of openapi.json.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.served_platform import ServedPlatform


@pytest.mark.parametrize("program", ["use.py", "use_async.py"])
def test_a_strangers_program_creates_orders_and_follows(
    platform: ServedPlatform, program: str
) -> None:
    words = [sys.executable, str(Path(__file__).parent / "python" / program)]
    done = subprocess.run(
        [*words, platform.url, platform.key],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout, done.returncode) == ("Harbour\n", 0), done.stderr
