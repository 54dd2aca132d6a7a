"""What `up` builds first: what is missing, and how long that takes here."""

import os
from pathlib import Path

import pytest

from leyden.base.daemons.progress import quiet
from leyden_workshop.compiler import catalogue
from leyden_workshop.compiler.estimates import pace
from leyden_workshop.devnet.builds import Builds, Missing
from tests.base.daemons.conftest import StandIn, go

__all__ = ["go"]  # a fixture

NAMES = ("lnd", "btcd", "poold", "auctioneer")


def seconds(*names: str) -> int:
    sets = {tools.name: tools for tools, _ in map(catalogue.find, names)}
    return sum(tools.seconds for tools in sets.values())


@pytest.fixture
def builds(tmp_path: Path, go: StandIn, monkeypatch: pytest.MonkeyPatch) -> Builds:
    """An empty cache, and a stand-in for Go that builds at once."""
    monkeypatch.setenv("PATH", f"{go.folder}{os.pathsep}{os.environ['PATH']}")
    return Builds(tmp_path / "cache", {}, quiet)


def test_what_is_missing_is_named_with_the_time_that_it_takes(builds: Builds) -> None:
    times = pace([], processors=len(os.sched_getaffinity(0)))
    assert builds.missing("lnd", "btcd") == Missing(
        "lnd and btcd", seconds("lnd") * times
    )
    every = builds.missing(*NAMES)
    assert every is not None
    assert every.names == "lnd, btcd, poold and auctioneer"
    assert every.seconds == pytest.approx(seconds(*NAMES) * times)


def test_own_programs_are_not_missing(tmp_path: Path) -> None:
    own = {catalogue.find(name)[1]: tmp_path / name for name in NAMES}
    builds = Builds(tmp_path / "cache", own, quiet)
    assert builds.missing(*NAMES) is None
    assert builds.programs(*NAMES) == {name: tmp_path / name for name in NAMES}


async def test_what_was_built_here_corrects_the_estimate_of_the_rest(
    builds: Builds,
) -> None:
    before = builds.missing("poold", "auctioneer")
    await builds.build("lnd", "btcd")
    assert builds.missing("lnd", "btcd") is None
    after = builds.missing("poold", "auctioneer")
    assert before is not None
    assert after is not None
    assert after.names == "poold and auctioneer"
    assert after.seconds == pytest.approx(seconds("poold", "auctioneer") * builds.pace)
    assert after.seconds < before.seconds, "the stand-in is quick"
    pace_before = builds.pace
    await builds.build("lnd", "btcd")
    assert builds.pace == pace_before, "nothing was built"
