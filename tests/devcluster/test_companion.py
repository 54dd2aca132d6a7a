"""The companion beside each lnd has tests of its own, in Go."""

import os
import subprocess
from pathlib import Path

import pytest

from leyden.daemons.build import default_cache
from leyden.daemons.toolchain import toolchain
from leyden.devcluster import binaries
from tests.cluster import skip_unless_built

FOLDER = Path(__file__).parents[2] / "companion"


@pytest.mark.real
@pytest.mark.timeout(300)
async def test_its_own_tests_pass() -> None:
    skip_unless_built("companion")
    go = await toolchain(
        default_cache(os.environ),
        oldest=binaries.COMPANION.go,
        environment=os.environ,
    )
    done = subprocess.run(
        (go, "test", "./..."), cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_built_from_this_clone_and_from_nothing_else() -> None:
    assert binaries.COMPANION.folder.resolve() == FOLDER
    module = (FOLDER / "go.mod").read_text()
    assert "require" not in module
