"""Programs that outlive us, with real programs."""

import asyncio
import contextlib
import fcntl
import os
import resource
import signal as signals
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from leyden.base.processes import (
    ProcessIdentity,
    ResourceLimits,
    alive,
    cap,
    command_line,
    exited,
    holder,
    identify,
    set_niceness,
    signal,
    spawn,
    stop,
)
from leyden.base.processes.shell import still_shell
from leyden.errors import SetupError
from leyden.values import replace
from tests.waiting import until

SLEEP = ["/bin/sleep", "600"]
SESSIONS_ARE_SCHEDULED = Path("/proc/self/autogroup").exists()


def niceness_of_session(identity: ProcessIdentity) -> int:
    """Return it as the kernel says: `/autogroup-1234 nice 7`."""
    return int(Path(f"/proc/{identity.pid}/autogroup").read_text().split()[-1])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "program.log"


@pytest.fixture
def claim(tmp_path: Path) -> Path:
    return tmp_path / "claim"


@pytest.fixture
async def started() -> AsyncIterator[list[ProcessIdentity]]:
    """What a test started; nothing of it outlives the test."""
    identities: list[ProcessIdentity] = []
    yield identities
    for identity in identities:
        await stop(identity, grace_s=0)


async def test_a_program_runs_apart_in_a_session_of_its_own(
    log: Path, started: list[ProcessIdentity]
) -> None:
    sleeper = await spawn(SLEEP, log=log)
    started.append(sleeper)
    assert alive(sleeper)
    assert sleeper.exe == os.path.realpath("/bin/sleep")
    assert os.getsid(sleeper.pid) == sleeper.pid
    assert command_line(sleeper) == SLEEP
    await stop(sleeper, grace_s=1)
    assert command_line(sleeper) == []


@pytest.mark.timeout(20)
async def test_others_go_on_while_a_program_is_started(
    log: Path, started: list[ProcessIdentity]
) -> None:
    os.mkfifo(log)  # which cannot be opened to write until somebody reads
    starting = asyncio.create_task(spawn(SLEEP, log=log))
    await asyncio.wait([starting], timeout=0.1)
    assert not starting.done()
    reading = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    started.append(await starting)
    os.close(reading)


async def test_who_starts_a_program_may_be_cancelled_meanwhile(
    log: Path, claim: Path, started: list[ProcessIdentity]
) -> None:
    os.mkfifo(log)
    starting = asyncio.create_task(spawn(SLEEP, log=log, claim=claim))
    await asyncio.wait([starting], timeout=0.1)
    starting.cancel()
    await asyncio.wait([starting])
    assert starting.cancelled()
    reading = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    async with asyncio.timeout(10):
        while (found := await asyncio.to_thread(holder, claim)) is None:
            await asyncio.sleep(0.01)
    os.close(reading)
    started.append(found)
    assert await spawn(SLEEP, log=log, claim=claim) == found


async def test_it_yields_to_others_as_far_as_it_is_told(
    log: Path, started: list[ProcessIdentity]
) -> None:
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    sleeper = await spawn(SLEEP, log=log, niceness=9)
    started.append(sleeper)
    assert os.getpriority(os.PRIO_PROCESS, sleeper.pid) == 9
    assert os.getpriority(os.PRIO_PROCESS, 0) == ours
    if SESSIONS_ARE_SCHEDULED:
        assert niceness_of_session(sleeper) == 9


async def test_the_niceness_of_what_has_ended_is_nobodys(
    log: Path, started: list[ProcessIdentity]
) -> None:
    sleeper = await spawn(SLEEP, log=log)
    started.append(sleeper)
    await stop(sleeper, grace_s=0)
    assert set_niceness(sleeper.pid, 9)


async def test_its_output_is_kept_and_private(log: Path) -> None:
    talker = await spawn(["/bin/sh", "-c", "echo out; echo err >&2"], log=log)
    assert await exited(talker) == 0
    assert sorted(log.read_text().split()) == ["err", "out"]
    assert log.stat().st_mode & 0o777 == 0o600


async def test_its_exit_code_is_told_to_everyone_who_asks(log: Path) -> None:
    program = await spawn(["/bin/sh", "-c", "sleep 0.1; exit 7"], log=log)
    codes = await asyncio.gather(exited(program), exited(program))
    assert list(codes) == [7, 7]
    assert await exited(program) == 7
    assert not alive(program)


async def test_a_signal_is_told_as_a_negative_exit_code(log: Path) -> None:
    sleeper = await spawn(SLEEP, log=log)
    assert signal(sleeper, signals.SIGKILL)
    assert await exited(sleeper) == -signals.SIGKILL
    assert not signal(sleeper, signals.SIGTERM)


async def test_a_program_that_cannot_be_run_is_refused(log: Path) -> None:
    with pytest.raises(SetupError, match="is missing"):
        await spawn(["/no/such/lnd"], log=log)


async def test_a_program_that_ends_at_once_still_has_an_exit_code(log: Path) -> None:
    assert await exited(await spawn(["/bin/false"], log=log)) == 1


async def test_a_stranger_with_the_same_pid_gets_no_signal(
    log: Path, started: list[ProcessIdentity]
) -> None:
    sleeper = await spawn(SLEEP, log=log)
    started.append(sleeper)
    past = replace(sleeper, started="1@another boot")
    assert not alive(past)
    assert not signal(past, signals.SIGKILL)
    assert await stop(past, grace_s=0) is None
    assert await exited(past) is None
    assert alive(sleeper)


@contextlib.contextmanager
def files_left(number: int) -> Iterator[None]:
    """Let us open so many files at once, and no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("left", [0, 1])
async def test_who_can_open_no_file_calls_no_program_ended(
    log: Path, started: list[ProcessIdentity], left: int
) -> None:
    """The last file may be the one by which its end is waited for."""
    sleeper = await spawn(SLEEP, log=log)
    started.append(sleeper)
    with files_left(left), pytest.raises(OSError, match="Too many open files"):
        await exited(sleeper)
    with files_left(left), pytest.raises(OSError, match="Too many open files"):
        signal(sleeper, signals.SIGKILL)
    with files_left(0), pytest.raises(OSError, match="Too many open files"):
        alive(sleeper)
    with files_left(0), pytest.raises(OSError, match="Too many open files"):
        still_shell(sleeper.pid)
    assert alive(sleeper)


async def test_what_ignores_the_request_is_killed_after_the_grace(log: Path) -> None:
    stubborn = await spawn(
        [sys.executable, "-c", _IGNORES_SIGTERM], log=log, limits=ResourceLimits()
    )
    await until(lambda: "ready" in log.read_text())
    assert await stop(stubborn, grace_s=0.1) == -signals.SIGKILL
    assert await stop(stubborn, grace_s=0.1) == -signals.SIGKILL


async def test_limits_hold_from_the_first_instruction(log: Path) -> None:
    limits = ResourceLimits(open_files=123, address_space=1 << 30, data=1 << 29)
    shell = ["/bin/sh", "-c", "ulimit -n; ulimit -v; ulimit -d; ulimit -c"]
    await exited(await spawn(shell, log=log, limits=limits))
    assert log.read_text().split() == ["123", str(1 << 20), str(1 << 19), "0"]


async def test_a_program_inherits_no_secret_of_ours(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_SECRET", "walrus")
    await exited(await spawn(["/usr/bin/env"], log=log))
    assert "PATH=" in log.read_text()
    assert "walrus" not in log.read_text()


async def test_a_claim_lets_one_program_in(
    log: Path, claim: Path, started: list[ProcessIdentity]
) -> None:
    assert holder(claim) is None
    several = await asyncio.gather(
        *(spawn(SLEEP, log=log, claim=claim) for _ in range(8))
    )
    started.extend(several)
    assert len(set(several)) == 1
    assert holder(claim) == several[0]
    await stop(several[0], grace_s=1)
    assert holder(claim) is None
    again = await spawn(SLEEP, log=log, claim=claim)
    started.append(again)
    assert again != several[0]


async def test_a_claim_is_held_by_a_program_that_we_did_not_start(
    log: Path, claim: Path, started: list[ProcessIdentity]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SPAWNS, str(log), str(claim)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        timeout=20,
    )
    assert done.returncode == 0
    adopted = holder(claim)
    assert adopted is not None
    started.append(adopted)
    assert await spawn(SLEEP, log=log, claim=claim) == adopted
    assert await stop(adopted, grace_s=1) is None
    assert not alive(adopted)


async def test_a_pid_left_in_a_claim_by_a_past_run_names_nobody(
    log: Path, claim: Path, started: list[ProcessIdentity]
) -> None:
    stranger = await spawn(SLEEP, log=log)
    started.append(stranger)
    claim.write_text(f"{stranger.pid}\n")
    assert holder(claim) is None
    ours = await spawn(SLEEP, log=log, claim=claim)
    started.append(ours)
    assert ours != stranger


async def test_a_claim_that_is_moved_away_while_it_is_taken_is_taken_anew(
    log: Path,
    claim: Path,
    started: list[ProcessIdentity],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lock = fcntl.flock

    def moved_before(file: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        claim.rename(claim.with_name("moved"))
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", moved_before)
    ours = await spawn(SLEEP, log=log, claim=claim)
    started.append(ours)
    assert holder(claim) == ours


async def test_a_claim_that_is_locked_without_a_name_is_waited_for(
    log: Path, claim: Path, started: list[ProcessIdentity]
) -> None:
    stranger = await spawn(SLEEP, log=log)
    started.append(stranger)
    with claim.open("w+") as file:  # as left by a past run, and being taken anew
        file.write(f"{stranger.pid}\n")
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        starting = asyncio.create_task(spawn(SLEEP, log=log, claim=claim))
        await asyncio.sleep(0.02)
        assert not starting.done()
    started.append(await starting)
    assert await starting != stranger


@pytest.mark.parametrize("delay_ms", range(0, 40, 4))
async def test_being_killed_while_starting_loses_no_program_and_doubles_none(
    log: Path, claim: Path, delay_ms: int, started: list[ProcessIdentity]
) -> None:
    ready = claim.with_name("ready")
    starter = subprocess.Popen(
        [sys.executable, "-c", _SPAWNS, str(log), str(claim), str(ready)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    await until(ready.exists)
    await asyncio.sleep(delay_ms / 1000)  # the instants are the examples here
    starter.kill()
    starter.wait()
    ours = await spawn(SLEEP, log=log, claim=claim)
    started.append(ours)
    assert holder(claim) == ours
    assert list(_sleepers_with(claim)) == [ours.pid]


def test_a_zombie_does_not_count_as_running() -> None:
    child = subprocess.Popen(["/bin/true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert identify(child.pid) is None
    child.wait()


async def test_a_log_that_grew_is_moved_aside_while_the_program_goes_on(
    log: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    loud = ["/bin/sh", "-c", f"echo {'a' * 100}; read x < {go}; echo after"]
    program = await spawn(loud, log=log)
    await until(lambda: log.stat().st_size > 100)
    assert not cap(log, max_bytes=1000)
    assert cap(log, max_bytes=50)
    go.write_text("on\n")
    await exited(program)
    assert log.read_text() == "after\n"
    assert log.with_name("program.log.1").read_text() == "a" * 49 + "\n"


_IGNORES_SIGTERM = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""

_SPAWNS = f"""
import asyncio, sys
from pathlib import Path
from leyden.base.processes import spawn
log, claim = map(Path, sys.argv[1:3])
for ready in sys.argv[3:]:
    Path(ready).touch()
asyncio.run(spawn({SLEEP!r}, log=log, claim=claim))
"""


def _sleepers_with(claim: Path) -> Iterator[int]:
    """Every process that has the claim open."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if any(file.readlink() == claim for file in (folder / "fd").iterdir()):
                yield int(folder.name)
