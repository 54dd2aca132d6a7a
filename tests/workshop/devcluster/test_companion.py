"""The companion beside each lnd has tests of its own, in Go."""

from pathlib import Path

import pytest

from leyden_workshop.devcluster import binaries
from tests.go_tests import assert_its_own_tests_pass
from tests.programs import built

FOLDER = Path(__file__).parents[3] / "companion"


@pytest.mark.real
@pytest.mark.timeout(300)
async def test_its_own_tests_pass() -> None:
    built("companion")
    await assert_its_own_tests_pass(binaries.COMPANION)


def test_it_is_built_from_this_clone_and_from_nothing_else() -> None:
    assert binaries.COMPANION.folder.resolve() == FOLDER
    module = (FOLDER / "go.mod").read_text()
    assert "require" not in module
