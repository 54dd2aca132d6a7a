"""The auctioneer of a private chain has tests of its own, in Go."""

import os
import subprocess
from pathlib import Path

import pytest

from leyden.daemons.build import default_cache
from leyden.daemons.catalogue import ToolSet
from leyden.daemons.toolchain import toolchain
from tests.devnet.conftest import built

FOLDER = Path(__file__).parents[2] / "auctioneer"


@pytest.mark.real
@pytest.mark.timeout(900)
async def test_its_own_tests_pass() -> None:
    built("auctioneer")
    module = ToolSet(name="auctioneer", programs=(), folder=FOLDER)
    go = await toolchain(
        default_cache(os.environ), oldest=module.go, environment=os.environ
    )
    done = subprocess.run(
        (go, "test", "./..."), cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
