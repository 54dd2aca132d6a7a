"""How soon a thread is let in, as the kernel itself shows it."""

import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from leyden.processes import ask_for_short_slices
from tests.ports import free_port

_SINCE = (6, 12)
_RELEASE = re.compile(r"(\d+)\.(\d+)")

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/sched").exists(),
    reason="this kernel does not show how it schedules (CONFIG_SCHED_DEBUG)",
)


def slice_ns(task: str = "thread-self") -> int:
    lines = Path(f"/proc/{task}/sched").read_text().splitlines()
    found = [line for line in lines if line.startswith("se.slice")]
    return int(found[0].rpartition(":")[2]) if found else 0


def kernel() -> tuple[int, ...]:
    found = _RELEASE.match(os.uname().release)
    assert found
    return tuple(map(int, found.groups()))


def until_live(url: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (urllib.error.URLError, ConnectionError):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return


def in_a_thread(work: "threading.Thread") -> None:
    work.start()
    work.join()


def test_a_thread_has_short_slices_and_what_it_starts_has_usual_ones() -> None:
    if kernel() < _SINCE:
        pytest.skip("Linux has slices of threads since 6.12")
    usual = slice_ns()
    seen: list[int] = []

    def work() -> None:
        assert ask_for_short_slices()
        seen.append(slice_ns())
        in_a_thread(threading.Thread(target=lambda: seen.append(slice_ns())))
        script = "print(open('/proc/self/sched').read())"
        said = subprocess.check_output([sys.executable, "-c", script], text=True)
        seen.append(int(re.findall(r"se\.slice\s*:\s*(\d+)", said)[0]))

    in_a_thread(threading.Thread(target=work))
    assert seen == [100_000, usual, usual]
    assert slice_ns() == usual, "it is the thread's alone"


def test_the_niceness_of_a_thread_stays() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    found: list[int] = []

    def work() -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), before + 1)
        ask_for_short_slices()
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    in_a_thread(threading.Thread(target=work))
    assert found == [before + 1]


def test_the_platform_asks_for_them(tmp_path: Path) -> None:
    if kernel() < _SINCE:
        pytest.skip("Linux has slices of threads since 6.12")
    port = free_port()
    environment = {
        **os.environ,
        "LEYDEN_HOME": str(tmp_path / "home"),
        "LEYDEN_API_PORT": str(port),
        "LEYDEN_METRICS_PORT": "0",
    }
    leyden = Path(sys.executable).with_name("leyden")
    subprocess.run([leyden, "migrate"], env=environment, check=True)
    with subprocess.Popen([leyden, "serve"], env=environment) as serving:
        try:
            until_live(f"http://127.0.0.1:{port}/health/live")
            assert slice_ns(str(serving.pid)) == 100_000
        finally:
            serving.terminate()
