"""What a process that holds the sealing keys leaves behind."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from leyden.app.migration import migrate
from leyden.app.opening import opened
from leyden.settings import Settings


@pytest.fixture
def dumps_cores() -> Iterator[None]:
    """Let this process dump its memory, as systemd lets each service."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


@pytest.mark.usefixtures("dumps_cores")
async def test_a_process_with_the_sealing_keys_leaves_no_core_dump(
    tmp_path: Path,
) -> None:
    given = Settings(home=str(tmp_path))
    migrate(given)
    async with opened(given):
        assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
