"""kill -9 at each step to the disk while a node is moved: one side has it, one lnd."""

import shutil
import signal
from pathlib import Path

import pytest

from leyden.base import processes
from tests.crash import move_victim
from tests.crash.conftest import Said, crash_points, some_or_all
from tests.crash.test_kill_while_a_node_is_made import folder, lnds, run_victim
from tests.nodes.contracts.runtimes import a_loopback_network, install_stand_in

__all__ = ["folder"]

pytestmark = [pytest.mark.usefixtures("strace"), pytest.mark.timeout(600)]


def run(path: Path, *, kill_at: tuple[str, int] | None = None) -> Said:
    return run_victim(path, kill_at=kill_at, module=move_victim.__name__)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node that was made once, and whose lnd has ended with this machine."""
    trial = tmp_path_factory.mktemp("made")
    for name in ("network", "network-there"):
        (trial / name).write_text(str(a_loopback_network()))
    install_stand_in(trial)
    assert not run_victim(trial).killed
    for claim in trial.glob("nodes/*/claim"):
        if (lnd := processes.holder(claim)) is not None:
            processes.signal(lnd, signal.SIGKILL)
    return trial


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
    for number in crash_points(every):
        trial = folder / str(number)
        shutil.copytree(made, trial, symlinks=True)
        said = run(trial, kill_at=(calls, number))
        assert len(lnds(trial)) <= 1
        startable = [*trial.glob("nodes/*N"), *trial.glob("there/*N")]
        assert len(startable) <= 1, "nobody could start two"
        after = run(trial)
        assert not after.killed
        assert after.of("failed") in ([], [""])
        (lnd,) = lnds(trial)
        (home,) = (trial / "there").iterdir()
        assert list((trial / "nodes").iterdir()) == []
        assert home.name == move_victim.NODE_ID
        held = processes.holder(home / "claim")
        assert held is not None
        assert held.pid == lnd
        assert after.of("waits") == [f"kubernetes {held.pid} {held.started} {held.exe}"]
        processes.signal(held, signal.SIGKILL)
        if not said.killed:
            assert number > least, "the move has to get that far"
            return
