"""The share that the kernel holds a node to, where there are control groups."""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from leyden.base import processes
from leyden.base.processes import ProcessIdentity
from leyden.errors import SetupError
from leyden.nodes.rules.nodes import Node, NodeType
from leyden.nodes.rules.observations import LndState
from leyden.nodes.runtimes.local.cgroups import Cgroups
from leyden.nodes.runtimes.local.placement import LEAST_MEMORY, MIB, Share
from leyden.values import replace
from tests.control_groups import groups
from tests.nodes.contracts.runtimes import (
    LocalRuntimeCase,
    RealRuntimeCase,
    install_stand_in,
    start,
)
from tests.nodes.rules.nodes import a_node
from tests.waiting import until

NOWHERE = Path("/nowhere")
NO_LIMITS = Cgroups(NOWHERE).unavailable_reason()
# Not every machine has them to give, whoever tests on it.
WITH_CGROUPS = pytest.mark.xfail(groups(NOWHERE) is None, reason=NO_LIMITS, run=False)
WITH_LIMITS = pytest.mark.xfail(bool(NO_LIMITS), reason=NO_LIMITS, run=False)
SHARE = Share(memory=LEAST_MEMORY)
ASKED = "import sys, time; sys.stdin.readline()\n"
HUNGRY = ASKED + "kept = b'x' * (600 << 20); print('has it', flush=True)"
FRUGAL = ASKED + "kept = b'x' * (60 << 20); print('has it', flush=True); time.sleep(60)"
MANY_THREADS = """
import threading
release = threading.Event()
try:
    for number in range(3_000):
        threading.Thread(target=release.wait, daemon=True).start()
except RuntimeError:
    print(number, flush=True)
release.set()
"""


class Program:
    """A process of a test's, which begins once it is told to."""

    def __init__(self, code: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        found = processes.identify(self.process.pid)
        assert found is not None
        self.identity: ProcessIdentity = found

    def go(self) -> str:
        """Start its work and return the first line it prints."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self) -> int:
        self.process.kill()
        self.process.communicate()
        return self.process.returncode


@pytest.fixture
def cgroups(tmp_path: Path) -> Iterator[Cgroups]:
    made = groups(tmp_path)
    assert made is not None
    made.prepare()
    yield made
    made.remove()


@pytest.fixture
def node() -> Node:
    return a_node()


def states(case: LocalRuntimeCase) -> set[tuple[str, LndState | None]]:
    return {(found.process, found.state) for found in case.observations}


def is_held(process: ProcessIdentity, node_id: str) -> bool:
    held = Path(f"/proc/{process.pid}/cgroup").read_text().splitlines()
    return any(group.endswith(f"/{node_id}") for group in held)


@WITH_LIMITS
def test_who_takes_more_memory_than_its_share_is_ended_and_nobody_else(
    cgroups: Cgroups,
) -> None:
    hungry, frugal = Program(HUNGRY), Program(FRUGAL)
    cgroups.hold("hungry", hungry.identity, SHARE)
    cgroups.hold("frugal", frugal.identity, SHARE)
    assert hungry.go() == ""
    hungry.process.wait(30)
    assert hungry.end() == -signal.SIGKILL
    assert frugal.go() == "has it"
    assert cgroups.release("hungry"), "it was ended for want of memory"
    frugal.end()
    assert not cgroups.release("frugal")


@WITH_LIMITS
def test_where_processors_are_short_each_gets_by_its_weight(cgroups: Cgroups) -> None:
    def used_s(program: Program) -> int:
        stat = Path(f"/proc/{program.process.pid}/stat").read_text()
        return int(stat.rpartition(")")[2].split()[11])

    spin = f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\n"
    light, heavy = (Program(spin + ASKED + "while True: pass") for _ in range(2))
    cgroups.hold("light", light.identity, SHARE)
    cgroups.hold("heavy", heavy.identity, replace(SHARE, weight=800))
    for program in (light, heavy):
        assert program.process.stdin is not None
        program.process.stdin.write("go\n")
        program.process.stdin.flush()
    with suppress(subprocess.TimeoutExpired):
        heavy.process.wait(3)
    used = used_s(heavy) / max(used_s(light), 1)
    for program in (light, heavy):
        program.end()
    assert used > 3, "of eight, with whatever else runs there"


@WITH_LIMITS
def test_threads_have_an_end(cgroups: Cgroups) -> None:
    program = Program(ASKED + MANY_THREADS)
    cgroups.hold("many", program.identity, SHARE)
    assert 900 < int(program.go()) < 1_024
    program.end()


@WITH_CGROUPS
def test_a_stranger_with_the_same_pid_is_not_held(cgroups: Cgroups) -> None:
    stranger = Program(ASKED)
    cgroups.hold("node", replace(stranger.identity, started="long ago"), SHARE)
    assert not is_held(stranger.identity, "node")
    stranger.end()


@WITH_CGROUPS
def test_nothing_is_left_of_them(cgroups: Cgroups) -> None:
    program = Program(ASKED)
    cgroups.hold("node", program.identity, SHARE)
    cgroups.remove()
    assert is_held(program.identity, "node"), "somebody is in there"
    program.end()
    cgroups.remove()
    assert not cgroups.folder.exists()


@pytest.fixture
async def case(tmp_path: Path, cgroups: Cgroups) -> AsyncIterator[LocalRuntimeCase]:
    case = LocalRuntimeCase(tmp_path / "nodes", install_stand_in(tmp_path))
    case.cgroups = cgroups
    case.begin_anew()
    yield case
    await case.close()


@WITH_CGROUPS
async def test_a_node_is_held_from_its_start_to_its_end(
    case: LocalRuntimeCase, cgroups: Cgroups, node: Node
) -> None:
    node = await start(case, node)
    await until(lambda: is_held(case.identity(node), node.id))
    group = cgroups.folder / node.id
    case.begin_anew()
    await case.runtime.observe(node)
    assert is_held(case.identity(node), node.id)
    await case.crash(node)
    await until(lambda: not group.exists())


@WITH_CGROUPS
async def test_a_node_that_nobody_held_is_held_once_it_is_found(
    case: LocalRuntimeCase, cgroups: Cgroups, node: Node
) -> None:
    """It was started by a platform that knew of no groups, or died too soon."""
    case.cgroups = None
    case.begin_anew()
    node = await start(case, node)
    assert not is_held(case.identity(node), node.id)
    case.cgroups = cgroups
    case.begin_anew()
    await case.runtime.observe(node)
    await until(lambda: is_held(case.identity(node), node.id))


@pytest.fixture
async def real_case(
    tmp_path: Path, cgroups: Cgroups, real_lnd: Path
) -> AsyncIterator[RealRuntimeCase]:
    case = RealRuntimeCase(tmp_path / "nodes", real_lnd)
    case.cgroups = cgroups
    yield case
    await case.close()


@WITH_LIMITS
@pytest.mark.real
async def test_the_smallest_share_there_may_be_is_enough_to_unlock_a_wallet(
    real_case: RealRuntimeCase, node: Node
) -> None:
    """Also while somebody on the whitelist guesses: each try takes 256 MiB."""
    case = real_case
    case.placement = replace(case.placement, shares=dict.fromkeys(NodeType, SHARE))
    case.begin_anew()
    node = await start(case, node)
    await until(lambda: (node.process, LndState.NON_EXISTING) in states(case))
    await case.make_wallet(node)
    await case.crash(node)
    await until(lambda: not case.observations[-1].alive)
    node = await start(case, node)
    await until(lambda: (node.process, LndState.LOCKED) in states(case))
    await until(lambda: is_held(case.identity(node), node.id))
    guesses = await asyncio.gather(*(unlock(case, node, "guess") for _ in range(2)))
    assert all("invalid passphrase" in guess for guess in guesses)
    assert await unlock(case, node, "harbour light") == "{}"
    await until(lambda: (node.process, LndState.RPC_ACTIVE) in states(case))


async def unlock(case: RealRuntimeCase, node: Node, password: str) -> str:
    url = f"https://{node.host}:{case.placement.rest_port}/v1/unlockwallet"
    packed = base64.b64encode(password.encode()).decode()
    curl = await asyncio.create_subprocess_exec(
        *("curl", "--silent", "--insecure", url),
        *("--data", json.dumps({"wallet_password": packed})),
        stdout=subprocess.PIPE,
    )
    said, _ = await curl.communicate()
    return said.decode()


def test_the_one_tree_of_version_2_is_written_as_the_kernel_reads_it(
    tmp_path: Path,
) -> None:
    mount = tmp_path / "cgroup"
    mount.mkdir()
    (mount / "cgroup.controllers").write_text("cpuset cpu io memory pids")
    enabled = mount / "cgroup.subtree_control"
    enabled.write_text("")
    cgroups = Cgroups(tmp_path, mount=mount)
    cgroups.folder.mkdir()
    # What the kernel puts into each new folder.
    (cgroups.folder / "cgroup.subtree_control").write_text("cpu memory pids")
    cgroups.prepare()
    assert enabled.read_text() == "+cpu +memory +pids"
    group = cgroups.folder / "node"
    group.mkdir()
    for file in ("memory.max", "cpu.weight", "pids.max", "cgroup.procs"):
        (group / file).write_text("")
    (group / "memory.events").write_text("max 7\noom 1\noom_kill 1\n")
    program = Program(ASKED)
    cgroups.hold("node", program.identity, replace(SHARE, weight=400))
    assert (group / "memory.max").read_text() == str(400 * MIB)
    assert (group / "cpu.weight").read_text() == "400"
    assert (group / "cgroup.procs").read_text() == str(program.process.pid)
    program.end()
    assert cgroups.release("node")


def test_a_machine_without_the_controller_of_memory_has_none(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io pids")
    assert (
        "has no groups for memory"
        in Cgroups(tmp_path, mount=tmp_path).unavailable_reason()
    )


def test_where_there_are_none_they_may_not_be_required(tmp_path: Path) -> None:
    nowhere = Cgroups(tmp_path, mount=tmp_path / "no such mount")
    assert "has no groups" in nowhere.unavailable_reason()
    with pytest.raises(SetupError):
        nowhere.prepare()
