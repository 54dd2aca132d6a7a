"""Helpers: what is computed beside us, within limits, and ends with us."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from leyden import processes
from leyden.errors import Away, Malformed
from leyden.helpers.pool import Helpers
from tests.helpers import work

# For programs that import tests/, and leyden from wherever we do.
_ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(
        filter(None, [os.environ.get("PYTHONPATH"), str(Path(__file__).parents[2])])
    ),
}


@pytest.fixture
def helpers() -> Iterator[Helpers]:
    made = Helpers(most_cpu_s=0.5)
    yield made
    made.close()


def test_a_call_is_computed_in_another_process_and_counted(helpers: Helpers) -> None:
    outcome = helpers.compute(partial(work.after_cpu_s, 0.05))
    assert outcome.error is None
    assert outcome.value != os.getpid()
    assert 0.05 <= outcome.cpu_s < 0.5
    assert helpers.compute(os.getpid).value == outcome.value  # it is kept


def test_what_is_raised_is_raised_here_with_the_lines_it_came_from(
    helpers: Helpers,
) -> None:
    outcome = helpers.compute(partial(work.refuse, "seed: is wrong"))
    assert isinstance(outcome.error, Malformed)
    assert outcome.error.message == "seed: is wrong"
    assert "in refuse" in outcome.error.__notes__[0]


def test_what_can_not_be_sent_back_is_an_error(helpers: Helpers) -> None:
    outcome = helpers.compute(threading.Lock)
    assert isinstance(outcome.error, TypeError)
    assert helpers.compute(partial(int, "7")).value == 7


def test_who_takes_too_long_is_ended_and_the_next_is_served(helpers: Helpers) -> None:
    outcome = helpers.compute(partial(work.after_cpu_s, 60))
    assert isinstance(outcome.error, Malformed)
    assert "too long" in outcome.error.message
    assert outcome.cpu_s == 0.5
    assert helpers.compute(partial(int, "7")).value == 7


def test_who_takes_too_much_memory_is_refused(helpers: Helpers) -> None:
    outcome = helpers.compute(partial(work.many_bytes, 1 << 30))
    assert isinstance(outcome.error, Malformed)
    assert "memory" in outcome.error.message
    assert helpers.compute(partial(work.many_bytes, 1 << 20)).value == 1 << 20


def test_who_takes_too_much_memory_of_a_library_that_aborts_is_refused(
    helpers: Helpers,
) -> None:
    outcome = helpers.compute(os.abort)
    assert isinstance(outcome.error, Malformed)
    assert "memory" in outcome.error.message
    assert helpers.compute(partial(int, "7")).value == 7


def test_a_helper_that_was_killed_is_replaced(helpers: Helpers) -> None:
    pid = helpers.compute(os.getpid).value
    os.kill(pid, signal.SIGKILL)
    again = helpers.compute(os.getpid)
    assert again.error is None
    assert again.value != pid


def test_what_kills_every_helper_is_answered_all_the_same(helpers: Helpers) -> None:
    outcome = helpers.compute(partial(signal.raise_signal, signal.SIGSEGV))
    assert isinstance(outcome.error, Away)
    assert outcome.error.retry_after_s == 1


def test_a_helper_that_hangs_is_killed() -> None:
    helpers = Helpers(most_s=0.2)
    begun = time.monotonic()
    outcome = helpers.compute(partial(time.sleep, 60))
    assert isinstance(outcome.error, Away)
    assert time.monotonic() - begun < 30
    helpers.close()


def test_where_no_process_can_be_started_the_answer_is_to_try_again(
    monkeypatch: pytest.MonkeyPatch, helpers: Helpers
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    outcome = helpers.compute(os.getpid)
    assert isinstance(outcome.error, Away)


def test_two_threads_have_two_helpers(helpers: Helpers) -> None:
    with ThreadPoolExecutor(2) as threads:
        both = threads.map(helpers.compute, [partial(work.after_cpu_s, 0.2)] * 2)
        assert len({each.value for each in both}) == 2


def test_a_helper_knows_none_of_our_secrets(
    monkeypatch: pytest.MonkeyPatch, helpers: Helpers
) -> None:
    monkeypatch.setenv("LEYDEN_MASTER_KEY", "a secret")
    names = set(helpers.compute(work.environment).value)
    assert names <= {"HOME", "LANG", "LC_CTYPE", "PATH", "PYTHONPATH", "TZ"}


def test_a_helper_yields_to_us(helpers: Helpers) -> None:
    assert helpers.compute(work.niceness).value == min(os.nice(0) + 5, 19)


@pytest.mark.parametrize("more", [3, 17])
def test_a_helper_yields_to_a_platform_that_yields(more: int) -> None:
    script = (
        "from leyden.helpers.pool import Helpers; from tests.helpers import work\n"
        "helpers = Helpers()\n"
        "print(helpers.compute(work.niceness).value)\n"
        "helpers.close()\n"
    )
    said = subprocess.run(
        ["nice", "-n", str(more), sys.executable, "-c", script],
        env=_ENVIRONMENT,
        capture_output=True,
        check=True,
        text=True,
    )
    assert int(said.stdout) == min(os.nice(0) + more + 5, 19)


def test_helpers_end_when_they_are_closed(helpers: Helpers) -> None:
    pid = helpers.compute(os.getpid).value
    helpers.close()
    assert processes.identify(pid) is None


@pytest.mark.parametrize("computing", [False, True])
def test_a_helper_ends_when_we_are_killed(*, computing: bool, tmp_path: Path) -> None:
    """Whether it waits for a call or is in the middle of one."""
    told = tmp_path / "pid"
    script = (
        "import time, threading; from functools import partial\n"
        "from leyden.helpers.pool import Helpers; from tests.helpers import work\n"
        "helpers = Helpers(most_cpu_s=0.5)\n"
        f"helpers.compute(partial(work.tell_pid, {str(told)!r}))\n"
        f"if {computing}: helpers.compute(partial(work.after_cpu_s, 60))\n"
        "time.sleep(60)\n"
    )
    until = time.monotonic() + 30
    with subprocess.Popen([sys.executable, "-c", script], env=_ENVIRONMENT) as ours:
        try:
            while not told.exists() or not told.read_text():
                assert time.monotonic() < until
                time.sleep(0.01)
            helper = processes.identify(int(told.read_text()))
            assert helper is not None
        finally:
            ours.kill()
    while processes.alive(helper):
        assert time.monotonic() < until
        time.sleep(0.01)
