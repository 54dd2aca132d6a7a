"""What `up` builds first: what is missing, and how long that takes here."""

import os
import platform
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
        "building lnd and btcd from source", seconds("lnd") * times
    )
    every = builds.missing(*NAMES)
    assert every is not None
    assert every.how == "building lnd, btcd, poold and auctioneer from source"
    assert every.seconds == pytest.approx(seconds(*NAMES) * times)


def test_what_has_an_archive_is_downloaded_and_what_that_takes_is_told(
    builds: Builds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    _, lnd = catalogue.find("lnd")
    names = [f"lnd-linux-{machine}-v{lnd.version}", f"btcd-linux-{machine}-v0.24.2"]
    sums = tmp_path / "sums"
    sums.write_text("".join(f"{'0' * 64}  {name}.tar.gz\n" for name in names))
    monkeypatch.setenv("LEYDEN_ARCHIVES_SUMS", str(sums))
    times = pace([], processors=len(os.sched_getaffinity(0)))
    assert builds.missing("lnd", "btcd") == Missing(
        "downloading lnd and btcd", 40.0, seconds("lnd") * times
    )
    some = builds.missing("lnd", "auctioneer")
    assert some is not None
    assert some.how == "downloading and building lnd and auctioneer"
    assert some.seconds == pytest.approx(20.0 + seconds("auctioneer") * times)


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
    assert after.how == "building poold and auctioneer from source"
    assert after.seconds == pytest.approx(seconds("poold", "auctioneer") * builds.pace)
    assert after.seconds < before.seconds, "the stand-in is quick"
    pace_before = builds.pace
    await builds.build("lnd", "btcd")
    assert builds.pace == pace_before, "nothing was built"
