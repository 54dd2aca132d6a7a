"""kill -9 at each step to the disk while a node is made: one node, one lnd."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from leyden.base import processes
from tests.crash import node_victim
from tests.crash.conftest import Said, crash_points, some_or_all
from tests.nodes.contracts.runtimes import a_loopback_network, install_stand_in

pytestmark = [pytest.mark.usefixtures("strace"), pytest.mark.timeout(600)]


def run_victim(
    folder: Path,
    *,
    kill_at: tuple[str, int] | None = None,
    module: str = node_victim.__name__,
) -> Said:
    command = [sys.executable, "-m", module, str(folder)]
    if kill_at is not None:
        calls, number = kill_at
        inject = f"inject={calls}:signal=SIGKILL:when={number}"
        command = [
            # -D: strace goes on with the lnd that lives on, and nobody waits for it.
            *("strace", "-D", "-f", "-qq", "-o", os.devnull),
            *("-e", f"trace={calls}", "-e", inject),
            *command,
        ]
    # Its lnd lives on: it must not hold our end of a pipe.
    with (folder / "said").open("w+") as said, (folder / "sighed").open("w+") as sighed:
        subprocess.run(command, stdout=said, stderr=sighed, timeout=120, check=False)
        said.seek(0)
        lines = said.read().splitlines()
        sighed.seek(0)
        killed = "the end" not in lines
        complaint = sighed.read()
    assert not killed or "Traceback" not in complaint, complaint
    return Said(lines, killed)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for claim in tmp_path.glob("*/*/*/claim"):
        if (lnd := processes.holder(claim)) is not None:
            processes.signal(lnd, signal.SIGKILL)


def lnds(folder: Path) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if f"--lnddir={folder}/".encode() in words and state != "Z":
            found.append(int(process.name))
    return found


@some_or_all
@pytest.mark.parametrize(
    ("calls", "least"),
    [
        ("fsync,fdatasync", 5),
        pytest.param("rename,renameat,renameat2", 3, marks=pytest.mark.long),
        pytest.param("mkdir,mkdirat", 3, marks=pytest.mark.long),
        pytest.param("flock", 1, marks=pytest.mark.long),
        pytest.param("connect", 2, marks=pytest.mark.long),
    ],
)
def test_whatever_is_killed_the_node_is_made_once(
    folder: Path, calls: str, least: int, every: int
) -> None:
    for number in crash_points(every):
        trial = folder / str(number)
        trial.mkdir()
        (trial / "network").write_text(str(a_loopback_network()))
        install_stand_in(trial)
        said = run_victim(trial, kill_at=(calls, number))
        running = lnds(trial)
        assert len(running) <= 1
        after = run_victim(trial)
        assert not after.killed
        assert after.of("created") == [f"{node_victim.KEY}N"]
        (lnd,) = lnds(trial)
        assert running in ([], [lnd]), "an lnd that ran was found again"
        (home,) = (trial / "nodes").iterdir()
        held = processes.holder(home / "claim")
        assert held is not None
        assert held.pid == lnd
        assert after.of("waits") == [f"{held.pid} {held.started} {held.exe}"]
        processes.signal(held, signal.SIGKILL)
        if not said.killed:
            assert number > least, "the making has to get that far"
            return
