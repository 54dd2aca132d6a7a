"""The auctioneer of a private chain has tests of its own, in Go."""

from pathlib import Path

import pytest

from leyden.base.daemons.catalogue import ToolSet
from tests.go_tests import assert_its_own_tests_pass
from tests.programs import built

FOLDER = Path(__file__).parents[3] / "auctioneer"


@pytest.mark.real
@pytest.mark.timeout(900)
async def test_its_own_tests_pass() -> None:
    built("auctioneer")
    await assert_its_own_tests_pass(
        ToolSet(name="auctioneer", programs=(), folder=FOLDER)
    )
