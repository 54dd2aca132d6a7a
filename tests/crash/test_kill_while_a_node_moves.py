"""kill -9 at each step to the disk while a node is moved: one side has it, one lnd."""

import shutil
import signal
from pathlib import Path

import pytest

from leyden.base import processes
from tests.crash import move_victim
from tests.crash.conftest import Said, places, some_or_all
from tests.crash.test_kill_while_a_node_is_made import folder, lnds, run_victim
from tests.nodes.contracts.runtimes import a_loopback_network, install_stand_in

__all__ = ["folder"]

pytestmark = [pytest.mark.usefixtures("strace"), pytest.mark.timeout(600)]


def run(place: Path, *, kill_at: tuple[str, int] | None = None) -> Said:
    return run_victim(place, kill_at=kill_at, module=move_victim.__name__)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node that was made once, and whose lnd has ended with this machine."""
    place = tmp_path_factory.mktemp("made")
    for name in ("network", "network-there"):
        (place / name).write_text(str(a_loopback_network()))
    install_stand_in(place)
    assert not run_victim(place).killed
    for claim in place.glob("nodes/*/claim"):
        if (lnd := processes.holder(claim)) is not None:
            processes.signal(lnd, signal.SIGKILL)
    return place


@some_or_all
@pytest.mark.parametrize(
    ("calls", "least"),
    [
        ("rename,renameat,renameat2", 2),
        pytest.param("fsync,fdatasync", 10, marks=pytest.mark.long),
        pytest.param("mkdir,mkdirat", 2, marks=pytest.mark.long),
        pytest.param("unlink,unlinkat,rmdir", 3, marks=pytest.mark.long),
    ],
)
def test_whatever_is_killed_one_side_has_the_node(
    made: Path,
    folder: Path,
    calls: str,
    least: int,
    every: int,
) -> None:
    for number in places(every):
        place = folder / str(number)
        shutil.copytree(made, place, symlinks=True)
        said = run(place, kill_at=(calls, number))
        assert len(lnds(place)) <= 1
        startable = [*place.glob("nodes/*N"), *place.glob("there/*N")]
        assert len(startable) <= 1, "nobody could start two"
        after = run(place)
        assert not after.killed
        assert after.of("failed") in ([], [""])
        (lnd,) = lnds(place)
        (home,) = (place / "there").iterdir()
        assert list((place / "nodes").iterdir()) == []
        assert home.name == move_victim.NODE_ID
        held = processes.holder(home / "claim")
        assert held is not None
        assert held.pid == lnd
        assert after.of("waits") == [f"kubernetes {held.pid} {held.started} {held.exe}"]
        processes.signal(held, signal.SIGKILL)
        if not said.killed:
            assert number > least, "the move has to get that far"
            return
